/* What parsers of XML share: none takes a DOCTYPE. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/xml.h"

#include "core/status.h"

long lmr_xml_line(const lmr_xml *xml)
{
#if XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION < 9
    return (long)XML_GetCurrentLineNumber(xml->parser);
#else
    return (long)XML_GetCurrentLineNumber64(xml->parser);
#endif
}

static void XMLCALL on_doctype(void *self, const XML_Char *name LMR_UNUSED, const XML_Char *system LMR_UNUSED,
                               const XML_Char *public LMR_UNUSED, int has LMR_UNUSED)
{
    lmr_xml *xml = self;
    xml->doctype = lmr_xml_line(xml);
    XML_StopParser(xml->parser, XML_FALSE);
}

void lmr_xml_forbid_doctype(lmr_xml *xml)
{
    XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
}
