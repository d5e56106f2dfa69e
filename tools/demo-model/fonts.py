"""Creates the small fonts for printed text in scenes: ASCII subsets of fonts from Debian packages, in two folders.

    python3 fonts.py OUT_DIR

`OUT_DIR/train` is for training, `OUT_DIR/held-out` holds families that training never sees. Downloads with apt-get; needs
fonttools. The fonts themselves are not part of any package: only pictures of text are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

PACKAGES = (
    "dejavu-core liberation2 freefont-ttf cabin courier-prime comic-neue comfortaa dosis ebgaramond cantarell anonymous-pro b612 "
    "crosextra-caladea crosextra-carlito averia-sans-gwf firacode fantasque-sans lato open-sans roboto-unhinted quicksand "
    "inconsolata junction linuxlibertine oxygen play prociono inter jura karla vollkorn yanone-kaffeesatz "
    "humor-sans go league-mono"
).split()
TRAIN = (
    "AveriaSansGWF-Bold AveriaSansGWF-Regular B612-Bold B612-Regular B612Mono-Regular Cantarell-Bold Cantarell-Regular "
    "Carlito-Bold Carlito-Regular Comfortaa-Bold Comfortaa-Regular DejaVuSans DejaVuSans-Bold DejaVuSansMono DejaVuSansMono-Bold "
    "DejaVuSerif DejaVuSerif-Bold Dosis-Bold Dosis-Medium EBGaramond12-Regular EBGaramond12-Bold FantasqueSansMono-Bold "
    "FantasqueSansMono-Regular FiraCode-Bold FiraCode-Regular FreeMonoBold FreeSans FreeSansBold FreeSansOblique FreeSerif "
    "FreeSerifBold FreeSerifItalic Humor-Sans Inconsolata Inter-Bold Inter-Regular Inter-Black Junction Jura-Bold "
    "Jura-Medium Karla-Bold Karla-Regular LeagueMono-Regular LeagueMono-Bold LiberationMono-Regular LiberationSans-Bold "
    "LiberationSans-Regular LiberationSans-Italic LiberationSerif-Bold LiberationSerif-Regular LiberationSerif-Italic "
    "LinBiolinum_R LinBiolinum_RB LinLibertine_R LinLibertine_RB OpenSans-Bold OpenSans-Regular OpenSans-CondBold Oxygen-Sans "
    "Oxygen-Sans-Bold Play-Bold Play-Regular Prociono Quicksand-Bold Quicksand-Medium Roboto-Bold Roboto-Regular Roboto-Black "
    "RobotoCondensed-Regular RobotoCondensed-Bold YanoneKaffeesatz-Bold YanoneKaffeesatz-Regular"
).split()
HELD_OUT = (
    "Lato-Regular Lato-Bold Cabin-Regular Cabin-Bold Go-Regular Go-Bold Go-Mono Caladea-Regular Caladea-Bold ComicNeue-Regular "
    "ComicNeue-Bold Vollkorn-Regular Vollkorn-Bold"
).split()
ASCII = range(32, 127)


def shrink(source: Path, target: Path) -> None:
    """Keeps the printable ASCII of a font, without screen hinting."""
    options = subset.Options()
    options.hinting, options.layout_features, options.name_IDs = False, ["kern"], [1, 2]
    options.drop_tables += ["GSUB", "DSIG", "FFTM"]
    font = TTFont(source)
    missing = [chr(code) for code in ASCII if code not in font.getBestCmap()]
    assert not missing, (source.name, missing)
    one = subset.Subsetter(options)
    one.populate(unicodes=ASCII)
    one.subset(font)
    font.save(target)


def main() -> None:
    out = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "-q", *(f"fonts-{name}" for name in PACKAGES)], cwd=folder, check=True)
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), f"{folder}/unpacked"], check=True)
        found = {path.stem: path for path in sorted(Path(folder, "unpacked").rglob("*.[ot]tf"))}
        for part, names in (("train", TRAIN), ("held-out", HELD_OUT)):
            (out / part).mkdir(parents=True, exist_ok=True)
            for name in names:
                shrink(found[name], out / part / f"{name}{found[name].suffix}")
    files = [path for path in out.rglob("*.[ot]tf")]
    print(len(files), "fonts,", sum(path.stat().st_size for path in files) // 1000, "kB")


if __name__ == "__main__":
    main()
