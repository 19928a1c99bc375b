/* What parsers of XML share: none takes a DOCTYPE. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/xml.h"

static void XMLCALL on_doctype(void *self, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                               int has)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has;
    lmr_xml *xml = self;
    xml->doctype = (long)XML_GetCurrentLineNumber(xml->parser);
    XML_StopParser(xml->parser, XML_FALSE);
}

void lmr_xml_forbid_doctype(lmr_xml *xml)
{
    XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
}
