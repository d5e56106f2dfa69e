"""Reads the cases of `compare.mjs` and asks the reference reader of the format about each."""

import struct
import sys
from collections import Counter

import safetensors

counts = Counter()
shown = Counter()
with open(sys.argv[1], "rb") as cases:
    while head := cases.read(5):
        flags, length = struct.unpack("<BI", head)
        file = cases.read(length)
        try:
            safetensors.deserialize(file)
            accepts, reason = True, ""
        except Exception as error:
            accepts, reason = False, str(error)
        case = (bool(flags & 1), bool(flags & 2), accepts)
        counts[case] += 1
        # Worth a look: the reader looser than the reference, or the restated rules different from it.
        if (case[0] and not accepts) or case[1] != accepts:
            shown[case] += 1
            if shown[case] <= 5:
                print(case, reason, file[:300])
print("safetensors", safetensors.__version__)
for (reader, rules, reference), count in sorted(counts.items()):
    print(f"reader {reader!s:5} rules {rules!s:5} reference {reference!s:5}: {count}")
sys.exit(1 if any(reader and not reference for reader, _, reference in counts) else 0)
