/* How the search of the site orders what it finds: the page that has the term as its name comes first, pages come before the
 * functions of C and Python, and what was changed or measured comes last. SPDX-License-Identifier: Apache-2.0 */
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const term = new URLSearchParams(window.location.search).get("q") || "";
    const name = docname.split("/").pop().toLowerCase().replace(/[_-]/g, " ");
    if (/^(changelog|changes\/|records\/)/.test(docname)) return score - 100;
    return name === term.trim().toLowerCase().replace(/[_-]/g, " ") ? score + 200 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 0, 1: 0, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
