/* Version of the library. */
#ifndef MESHWISE_VERSION_H
#define MESHWISE_VERSION_H

#include <meshwise/status.h>

#define MW_VERSION_MAJOR 0
#define MW_VERSION_MINOR 1
#define MW_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". Pure. */
MW_API const char *mw_version(void);

/* The nearest of `names` to `name` within two edits, or NULL: for "did you mean". Pure. */
MW_API const char *mw_nearest_name(const char *name, const char *const *names, int count);

#ifdef __cplusplus
}
#endif
#endif
