// A C++ program on the shared library: public headers and exported names are all that it sees.
#include <meshwise/alloc.h>
#include <meshwise/dtype.h>
#include <meshwise/mesh.h>
#include <meshwise/status.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace
{
struct MeshUnref {
    void operator()(mw_mesh *mesh) const
    {
        mw_mesh_unref(mesh);
    }
};

int fail(const char *what)
{
    std::fprintf(stderr, "consumer: %s (last error: %s)\n", what, mw_last_error()->says);
    return 1;
}
} // namespace

int main()
{
    mw_mesh *raw = nullptr;
    if (mw_mesh_parse("x=2,y=3", &raw) != MW_OK) return fail("a good mesh is refused");
    std::unique_ptr<mw_mesh, MeshUnref> mesh(raw);
    if (mw_mesh_ranks(mesh.get()) != 6) return fail("x=2,y=3 has not 6 ranks");

    mw_layout layout;
    if (mw_layout_parse(mesh.get(), "f32[7@y, 4]", &layout) != MW_OK)
        return fail("a good layout is refused");
    int64_t shape[2] = {-1, -1};
    mw_layout_local_shape(mesh.get(), &layout, 2, shape);
    if (shape[0] != 1 || shape[1] != 4) return fail("rank 2 does not hold [1, 4] of f32[7@y, 4]");

    mw_mesh *none = nullptr;
    if (mw_mesh_parse("x=0", &none) != MW_ERR_ARG || none || !std::strlen(mw_last_error()->says))
        return fail("a mesh of size 0 is not refused with a sentence");
    return 0;
}
