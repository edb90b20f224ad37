/* The smallest C program on an installed meshwise; compiled by tests/consumer/install. */
#include <meshwise/mesh.h>
#include <stdio.h>

int main(void)
{
    mw_mesh *mesh;
    if (mw_mesh_parse("x=2,y=4", &mesh) != MW_OK) {
        fprintf(stderr, "%s\n", mw_last_error()->says);
        return 1;
    }
    printf("%d ranks\n", mw_mesh_ranks(mesh));
    mw_mesh_unref(mesh);
    return 0;
}
