/* The attributes of ISMRMRD images as lines of text, by expat. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_notes.h"

#include <stdio.h>
#include <string.h>

#include "io/reader/source.h"
#include "io/reader/xml.h"

typedef struct parser {
    lmr_xml xml;
    int depth; /* of <ismrmrdMeta><meta><name>, 3 is where texts are */
    char name[192], value[192];
    char *text; /* the one of them that is open, or NULL */
    char *notes;
    size_t used, room;
} parser;

/* Texts are shown up to so many characters. */
enum { LONGEST = 160 };

static void XMLCALL on_start(void *self, const XML_Char *element, const XML_Char **attributes LMR_UNUSED)
{
    parser *p = self;
    p->depth++;
    if (p->depth == 2) *p->name = *p->value = '\0';
    p->text = NULL;
    if (p->depth == 3 && !strcmp(element, "name")) p->text = p->name;
    if (p->depth == 3 && !strcmp(element, "value")) p->text = p->value;
}

static void XMLCALL on_text(void *self, const XML_Char *text, int bytes)
{
    parser *p = self;
    if (!p->text) return;
    const size_t length = strlen(p->text), left = sizeof p->value - 1 - length;
    const size_t taken = (size_t)bytes < left ? (size_t)bytes : left;
    memcpy(p->text + length, text, taken);
    p->text[length + taken] = '\0';
}

static void XMLCALL on_end(void *self, const XML_Char *element LMR_UNUSED)
{
    parser *p = self;
    p->text = NULL;
    if (p->depth-- != 2 || !*p->name) return;
    const lmr_text name = lmr_printable(p->name, (int64_t)strlen(p->name), LONGEST),
                   value = lmr_printable(p->value, (int64_t)strlen(p->value), LONGEST);
    const size_t needed = strlen(name.s) + strlen(value.s) + strlen(": \n");
    if (p->used + needed >= p->room) return;
    p->used += (size_t)snprintf(p->notes + p->used, p->room - p->used, "%s: %s\n", name.s, value.s);
}

larmor_status lmr_mrd_notes(const char *xml, size_t bytes, char *notes, size_t room)
{
    parser p = {.xml = {.parser = XML_ParserCreate(NULL)}, .notes = notes, .room = room};
    *notes = '\0';
    if (!p.xml.parser) return LMR_NO_MEMORY();
    XML_SetUserData(p.xml.parser, &p);
    XML_SetElementHandler(p.xml.parser, on_start, on_end);
    XML_SetCharacterDataHandler(p.xml.parser, on_text);
    lmr_xml_forbid_doctype(&p.xml);
    XML_Parse(p.xml.parser, xml, (int)strnlen(xml, bytes), 1);
    const int full = XML_GetErrorCode(p.xml.parser) == XML_ERROR_NO_MEMORY;
    XML_ParserFree(p.xml.parser);
    return full ? LMR_NO_MEMORY() : LARMOR_OK;
}
