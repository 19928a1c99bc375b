# What was tried and what came of it, by several processes. SPDX-License-Identifier: Apache-2.0
import collections
import json


class Report:
    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.highest = {}
        self.failures = collections.defaultdict(list)
        self.notes = []

    def count(self, what, which, n=1):
        self.counts[what][str(which)] += n

    def most(self, what, value):
        self.highest[what] = max(self.highest.get(what, 0), value)

    def failure(self, kind, text):
        self.failures[kind].append(text)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"counts": self.counts, "highest": self.highest, "failures": self.failures,
                       "notes": self.notes}, f)

    def add(self, path):
        with open(path, encoding="utf-8") as f:
            other = json.load(f)
        for what, counter in other["counts"].items():
            self.counts[what].update(counter)
        for what, value in other["highest"].items():
            self.most(what, value)
        for kind, texts in other["failures"].items():
            self.failures[kind] += texts
        for text in other["notes"]:
            self.note(text)

    def print(self, most=5):
        for what, counter in self.counts.items():
            parts = ", ".join("%s %d" % (name, n) for name, n in sorted(counter.items()))
            print("%s: %d (%s)" % (what, sum(counter.values()), parts))
        for what, value in self.highest.items():
            print("%s: %.3g" % (what, value))
        for text in self.notes:
            print("note: " + text)
        for kind, texts in sorted(self.failures.items()):
            print("FAILED: %s: %d" % (kind, len(texts)))
            for text in texts[:most]:
                print("    " + text)
            if len(texts) > most:
                print("    ...")
