/* What parsers of XML share: none takes a DOCTYPE, so that nothing is expanded and no other file is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <expat.h>

typedef struct lmr_xml { /* the first member of what expat's handlers get */
    XML_Parser parser;
    long doctype; /* the line of one, at which the parser stops; 0: there is none */
} lmr_xml;

/* Where the parser is, from 1. */
long lmr_xml_line(const lmr_xml *xml);

/* After XML_SetUserData. */
void lmr_xml_forbid_doctype(lmr_xml *xml);
