/* Phantoms by name. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

TEST(all_phantoms_exist_in_two_and_three_dimensions)
{
    const char *names[] = {"shepp-logan", "texture", "disc"};
    for (int i = 0; i < 6; i++) {
        OWN(larmor_phantom, *p, larmor_phantom_create(names[i / 2], 2 + i % 2, &p));
        assert_int_equal(p->ndim, 2 + i % 2);
        for (int j = 0; j < p->parts; j++) { /* nothing sticks out of the field of view */
            const lmr_ellipsoid *e = &p->part[j];
            for (int d = 0; d < p->ndim; d++) {
                const double longest = fmax(e->half_axis[0], fmax(e->half_axis[1], e->half_axis[2]));
                assert_at_most(fabs(e->centre[d]) + longest, 0.5);
                assert_true(e->half_axis[d] > 0);
            }
        }
    }
    larmor_phantom_free(NULL);
}

TEST(an_unknown_name_is_answered_with_the_known_ones)
{
    assert_none_made(larmor_phantom, larmor_phantom_create("brain", 2, &made), LARMOR_ERR_ARG,
                     "phantom: got \"brain\", expected shepp-logan, tissues, texture or disc");
    assert_none_made(larmor_phantom, larmor_phantom_create(NULL, 2, &made), LARMOR_ERR_ARG,
                     "expected shepp-logan, tissues, texture or disc");
    assert_none_made(larmor_phantom, larmor_phantom_create("disc", 4, &made), LARMOR_ERR_ARG,
                     "phantom: got 4 dimensions, expected 2 or 3");
}
