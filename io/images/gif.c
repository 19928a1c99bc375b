/* GIF: a series as a film of 256 greys or colours, by giflib. SPDX-License-Identifier: Apache-2.0 */
#include "io/images/picture.h"
#ifdef LMR_HAVE_GIF
#include <gif_lib.h>
#include <math.h>

#include "core/owned.h"

enum { MOST_SIDE = 65535, COLOURS = 256 };
#define USUAL_FRAMES_PER_S 10.0
#define FEWEST_PER_S 1.0 /* of the scan's own, which are shown as fast as they were acquired */
#define MOST_PER_S 50.0  /* browsers show more as 10 */

static int collect(GifFileType *gif, const GifByteType *data, int bytes)
{
    lmr_bytes_add(gif->UserData, data, (size_t)bytes);
    return bytes;
}

static int delay_of(const lmr_picture *p)
{
    const double measured = p->order.step_s > 0 && p->order.volumes > 1 ? 1 / p->order.step_s : 0;
    double per_s = p->images->opts->frames_per_s;
    if (!(per_s > 0)) per_s = measured >= FEWEST_PER_S && measured <= MOST_PER_S ? measured : USUAL_FRAMES_PER_S;
    return (int)fmin(65535, fmax(1, rint(100 / per_s)));
}

static void set_colours(lmr_paint paint, ColorMapObject *map)
{
    unsigned char rgb[3 * COLOURS];
    lmr_picture_palette(rgb);
    for (int i = 0; i < COLOURS; i++) {
        const unsigned char grey[3] = {(unsigned char)i, (unsigned char)i, (unsigned char)i};
        const unsigned char *c = paint == LMR_INDEX ? rgb + (size_t)3 * i : grey;
        map->Colors[i] = (GifColorType){c[0], c[1], c[2]};
    }
}

static int begin(GifFileType *gif, const lmr_picture *p)
{
    static const unsigned char for_ever[3] = {1, 0, 0};
    ColorMapObject *map = GifMakeMapObject(COLOURS, NULL);
    if (!map) return GIF_ERROR;
    set_colours(p->paint, map);
    EGifSetGifVersion(gif, true);
    int ok = EGifPutScreenDesc(gif, (int)p->width, (int)p->height, 8, 0, map);
    GifFreeMapObject(map);
    if (ok && p->frames > 1)
        ok = EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) &&
             EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") && EGifPutExtensionBlock(gif, sizeof for_ever, for_ever) &&
             EGifPutExtensionTrailer(gif);
    return ok;
}

static int put_frame(GifFileType *gif, const lmr_picture *p, unsigned char *pixel)
{
    const GraphicsControlBlock control = {.DelayTime = delay_of(p), .TransparentColor = NO_TRANSPARENT_COLOR};
    GifByteType block[4];
    const int length = (int)EGifGCBToExtension(&control, block);
    int ok = (p->frames < 2 || EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, length, block)) &&
             EGifPutImageDesc(gif, 0, 0, (int)p->width, (int)p->height, false, NULL);
    for (int64_t y = 0; y < p->height && ok; y++) ok = EGifPutLine(gif, pixel + y * p->width, (int)p->width);
    return ok;
}

static larmor_status encode(lmr_picture *p, lmr_bytes *file)
{
    int error = 0;
    if (p->paint == LMR_COLOUR) p->paint = LMR_INDEX;
    LMR_HEAP unsigned char *pixel = lmr_new(p->width, (size_t)p->height);
    GifFileType *gif = pixel ? EGifOpen(file, collect, &error) : NULL;
    if (!gif) return LMR_NO_MEMORY();
    int ok = begin(gif, p);
    larmor_status st = LARMOR_OK;
    for (int64_t f = 0; f < p->frames && ok && !st; f++) {
        memset(pixel, 0, (size_t)(p->width * p->height));
        lmr_picture_paint(p, f, pixel);
        ok = put_frame(gif, p, pixel);
        st = lmr_go_on();
    }
    ok &= EGifCloseFile(gif, &error);
    if (st || ok) return st;
    return LMR_FAIL(LARMOR_ERR_BACKEND, "giflib: the picture could not be encoded");
}

static larmor_status check(const char *path, const lmr_images *images)
{
    return lmr_picture_check(path, images, 1, MOST_SIDE);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    return lmr_picture_write(out, images, 1, MOST_SIDE, encode);
}

#define READY NULL
#else
static larmor_status check(const char *path, const lmr_images *images LMR_UNUSED)
{
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s: larmor was built without giflib; use .png", path);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    return check(out->path, images);
}

static larmor_status find_giflib(const char *path)
{
    return check(path, NULL);
}
#define READY find_giflib
#endif

const lmr_format lmr_format_gif = {
    .suffix = ".gif",
    .name = "GIF",
    .is_picture = 1,
    .ready = READY,
    .write = write_images,
    .check = check,
};
