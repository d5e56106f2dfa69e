"""The texts of the demo model's clips, the spelling of transcripts, and the count of their errors.

A transcript holds the words as they were said: lower case, numbers as words, no marks, one space between words.
`normalise` brings every text to this form, so a model that writes `12 + 7 = 19` or `Twelve plus seven equals nineteen.`
gets the same word error rate.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from random import Random

import arithmetic
import stories
import talk
from words import (
    ANIMALS,
    BOYS,
    CAPITALS,
    CITIES,
    COLORS,
    COMMON,
    COUNTABLES,
    DAYS,
    FOODS,
    FRUITS,
    GIRLS,
    JOBS,
    MONTHS,
    OPPOSITES,
    PETS,
    SOUNDS,
    THINGS,
    VERBS,
    Lexicon,
    article,
    join_words,
)

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by", "=": "equals", "%": "percent"}
# One spelling for words with the same sound and meaning.
SPELLINGS = {"colour": "color", "colours": "colors", "grey": "gray", "ok": "okay", "karl": "carl", "x": "times"}
_HUNDRED_AND = re.compile(rf"\bhundred and (?=(?:{'|'.join((*ONES, *TENS[2:]))})\b)")
MOST_WORDS = 14
HELD_OUT_SHARE = 20  # one text in this many is held out
PLAIN = Lexicon(False, plain=True)


def number_words(value: int) -> str:
    """347 -> `three hundred forty seven`, for 0 to 999,999."""
    if value < 20:
        return ONES[value]
    if value < 100:
        return TENS[value // 10] + ("" if value % 10 == 0 else " " + ONES[value % 10])
    unit, name = (100, "hundred") if value < 1000 else (1000, "thousand")
    rest = value % unit
    return f"{number_words(value // unit)} {name}" + ("" if rest == 0 else " " + number_words(rest))


def _number(match: re.Match[str]) -> str:
    digits = match.group()
    is_read_alone = len(digits) > 6 or (len(digits) > 1 and digits[0] == "0")
    return " " + (" ".join(ONES[int(d)] for d in digits) if is_read_alone else number_words(int(digits))) + " "


def spoken(written: str) -> str:
    """A written text as it is read aloud: numbers and signs as words; punctuation and capital letters are kept."""
    text = written.replace("\u2019", "'")
    text = re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", " ", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<=\d)\s*x\s*(?=\d)", " times ", text)
    text = re.sub(r"[+*/=%]|-(?=\s*\d)", lambda sign: f" {SIGNS[sign.group()]} ", text)
    text = re.sub(r"\d+", _number, text)
    return re.sub(r"\s+([,.?!])", r"\1", " ".join(text.split()))


def normalise(text: str) -> str:
    """The words of a text in the spelling of transcripts: `Tom's 2 Cats!` -> `tom's two cats`."""
    words = [word.strip("'") for word in re.sub(r"[^a-z' ]", " ", spoken(text).lower()).split()]
    words = " ".join(SPELLINGS.get(word, word) for word in words if word)
    # "three hundred and five" and "three hundred five" are the same number.
    return _HUNDRED_AND.sub("hundred ", words)


def word_errors(reference: str, hypothesis: str) -> tuple[int, int]:
    """Substitutions, insertions and deletions of the cheapest alignment, and the reference's words; both normalised."""
    wanted, got = normalise(reference).split(), normalise(hypothesis).split()
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1], len(wanted)


@dataclass(frozen=True)
class Line:
    """A text to say; `answer`: the model's reply if the text is a question to it, else empty."""

    kind: str
    written: str
    answer: str = ""

    @property
    def transcript(self) -> str:
        return normalise(self.written)


def is_held_out(transcript: str) -> bool:
    """True for the texts that training never hears; texts of one or two words, the vocabulary itself, never belong to them."""
    return len(transcript.split()) > 2 and zlib.crc32(transcript.encode()) % HELD_OUT_SHARE == 0


# Words that sound like another word of the vocabulary: only a sentence shows which one is meant.
HOMOPHONES = set(
    "bean bear dear deer eight eye flour flower four frank hair hare hear here hole hour knight knit mark meat meet new "
    "night nose one pair paul pear plain plane prince read right road rob rose sail sea see sew son sun tail tea two week "
    "will won wood write".split()
)
EVERY_WORD = sorted(
    {
        word
        for word in (
            *(*COMMON, *VERBS, *ANIMALS, *THINGS, *FRUITS, *FOODS, *PETS, *JOBS, *COLORS, *COUNTABLES),
            *(*GIRLS, *BOYS, *CITIES, *CAPITALS, *DAYS, *MONTHS, *SOUNDS.values(), *sum(OPPOSITES, ())),
        )
        if word.lower() not in HOMOPHONES
    }
)
SHAPES = "circle square triangle star ring cross diamond".split()
PLACES = ["at the top", "at the bottom", "on the left", "on the right", "in the middle"]
ROOMS = "kitchen garden hall bathroom bedroom office garage school"


def number_line(r: Random) -> Line:
    form = r.random()
    value = r.randint(0, 99) if r.random() < 0.4 else r.randint(0, 999)
    if form < 0.5:
        return Line("number", str(value))
    if form < 0.8:
        return Line("number", " ".join(str(r.randint(0, 9)) for _ in range(r.randint(2, 6))))
    if form < 0.88 and value > 100 and value % 100:
        return Line("number", f"{value // 100} hundred and {value % 100}")
    what = r.choice("number room page bus house platform gate".split())
    return Line("number", f"{what} {value}" + r.choice(["", "."]))


def sum_line(r: Random) -> Line:
    a, op, b = arithmetic.exercise(r, False, 0.2)
    written, answer = arithmetic.question(r, a, op, b)
    return Line("sum", written, answer)


def color_line(r: Random) -> Line:
    def group() -> str:
        count, shape, color = r.randint(1, 6), r.choice(SHAPES), r.choice(COLORS)
        many = "crosses" if shape == "cross" else shape + "s"
        return f"{article(color)} {shape}" if count == 1 else f"{count} {color} {many}"

    form = r.random()
    if form < 0.25:
        return Line("color", ", ".join(r.choice(COLORS) for _ in range(r.choice((1, 1, 2, 3, 4)))))
    if form < 0.5:
        owner, size = r.choice(("the ", "my ", "her ", "his ")), r.choice(("", "big ", "small ", "new ", "old "))
        return Line("color", f"{owner}{size}{r.choice(COLORS)} {r.choice(list(THINGS))}")
    if form < 0.8:
        return Line("color", join_words([group() for _ in range(r.choice((1, 2, 2, 3)))]))
    return Line("color", f"There is {article(r.choice(COLORS))} {r.choice(SHAPES)} {r.choice(PLACES)}.")


def command_line(r: Random) -> Line:
    def one(words: str) -> str:
        return r.choice(words.split())

    thing, color, name, city = r.choice(list(THINGS)), r.choice(COLORS), r.choice(GIRLS + BOYS), r.choice(CITIES)
    count, hour, food, things = r.randint(2, 60), r.randint(1, 12), r.choice(FOODS), r.choice(COUNTABLES)
    music = r.choice(["some music", "a song", "the piano", "my favorite song", "a game"])
    shown = r.choice(["the map", "a picture", "the time", "the weather", f"the weather in {city}"])
    wish = r.choice(
        ["come here", "sit down", "stand up", "be quiet", "say that again", "read it to me", "speak louder"]
    )
    commands = [
        f"Turn {one('on off')} the {one('light lamp radio music fan heater')}.",
        f"Turn {one('on off')} the {one('light lamp radio')} in the {one(ROOMS)}.",
        f"{one('Open Close Lock')} the {one('door window gate box curtain')}.",
        f"{one('Go Turn Move Walk Look')} {one('left right up down back home')}.",
        f"Go {one('forward back')} {count} steps.",
        f"{one('Stop Start Wait Help Go Yes No Next Back Louder')}.",
        f"Please {one('stop wait help start')}.",
        f"Set a timer for {count} minutes.",
        f"Wake me up at {hour} o'clock.",
        f"Call {name}.",
        f"Send a message to {name}.",
        f"Play {music}.",
        f"Bring me the {color} {thing}.",
        f"Give the {thing} to {name}.",
        f"Put the {thing} {one('on under behind beside')} the {one('table bed chair box door')}.",
        f"Add {food} to my list.",
        f"Buy {count} {things} and some {food}.",
        f"Count to {count}.",
        f"{one('Pick Choose Press Find')} the {color} {one('button ball card key shape')}.",
        f"Show me {shown}.",
        f"What is the weather in {city}?",
        f"Please {wish}.",
        f"Remind me on {r.choice(DAYS)} at {hour}.",
        f"My birthday is in {r.choice(MONTHS)}.",
    ]
    return Line("command", r.choice(commands))


_SPEAKABLE = re.compile(r"[A-Za-z][a-z]*('[a-z]+)?|\d{1,3}")


def _sentences(text: str) -> list[str]:
    """Sentences that consist of known words, without code, spelled letters, or long sentences."""
    found = re.split(r"(?<=[.?!])\s+", text.replace('"', ""))
    return [s for s in found if all(_SPEAKABLE.fullmatch(word.strip(",.?!:;")) for word in s.split()) and "-" not in s]


def talk_line(r: Random) -> Line:
    kinds = (
        talk.greeting,
        talk.about_me,
        talk.thanks,
        talk.feelings,
        talk.feelings,
        talk.fact,
        talk.fact,
        talk.about_doing,
        talk.stranger,
    )
    turns = r.choice(kinds)(r, PLAIN)
    turn = r.choice(turns)
    if turn is turns[0] and _sentences(turn.user) == [turn.user] and r.random() < 0.6:
        return Line("talk", turn.user, turn.answer)
    choices = _sentences(turn.user) + _sentences(turn.answer)
    return Line("talk", r.choice(choices)) if choices else talk_line(r)


def story_line(r: Random) -> Line:
    world = stories.make_world(r, PLAIN)
    if r.random() < 0.15:
        return Line("story", stories.request(r, world, r.random() < 0.4))
    choices = _sentences(stories.tell(r, world))
    at = r.randrange(len(choices))
    return Line("story", " ".join(choices[at : at + (2 if r.random() < 0.15 else 1)]))


def word_line(r: Random) -> Line:
    return Line("words", " ".join(r.choice(EVERY_WORD) for _ in range(r.choice((1, 1, 1, 2, 3, 4, 5)))))


KINDS = [number_line, sum_line, color_line, command_line, talk_line, story_line, word_line]
SHARES = [0.15, 0.11, 0.12, 0.17, 0.2, 0.17, 0.08]


def line(r: Random, held_out: bool) -> Line:
    """A random text of one split."""
    while True:
        made = r.choices(KINDS, SHARES)[0](r)
        transcript = made.transcript
        if transcript and len(transcript.split()) <= MOST_WORDS and is_held_out(transcript) == held_out:
            return made
