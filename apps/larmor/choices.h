/* Choices of options that the library's tables have: of app_choice. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_CHOICES_H
#define APP_CHOICES_H

const char *choose_trajectory(int i, const char **help);
const char *choose_phantom(int i, const char **help);
const char *choose_method(int i, const char **help); /* cg, grid, and the regularisers */
const char *choose_maps_method(int i, const char **help); /* auto, and those of the library */
const char *choose_unit(int i, const char **help);
const char *choose_unit_or_auto(int i, const char **help);
const char *choose_suffix(int i, const char **help); /* of files for images */

#endif
