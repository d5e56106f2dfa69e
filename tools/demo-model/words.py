"""Word lists of the demo model's corpus.

Every list that fills a name slot has a part for training and a part that is only used in held-out data, so that
held-out figures tell what the model does with words that it never saw in that slot.
"""

from __future__ import annotations

from random import Random

GIRLS = (
    "Anna Mia Lily Emma Sara Nora Ella Lucy Rosa Clara Ida Maya Zoe Ruby Alice Eva Hanna Lena Julia Kate Molly Nina "
    "Olga Polly Sofia Tina Vera Wendy Amy Betty Carla Dora Elsa Fiona Greta Helen Iris Jane Kira Laura"
).split()
BOYS = (
    "Tom Ben Max Leo Sam Jack Finn Paul Otto Hugo Noah Adam Carl David Erik Felix George Henry Ivan John Karl Luke Mark "
    "Nick Oscar Peter Rob Simon Theo Victor Will Alex Bruno Dan Emil Frank Gus Ian Jim Kurt"
).split()
HELD_OUT_GIRLS = "Mila Stella Petra Agnes Tessa Flora Marta Lotte".split()
HELD_OUT_BOYS = "Milo Rufus Anton Jonas Toby Lars Casper Edgar".split()

CITIES = (
    "Paris London Berlin Rome Madrid Oslo Vienna Lisbon Dublin Athens Prague Warsaw Tokyo Cairo Delhi Lima Boston Chicago "
    "Dallas Denver Miami Toronto Sydney Hamburg Munich Milan Naples Zurich Geneva Bergen Nairobi Lagos Seoul Moscow "
    "Istanbul Havana Quito Bogota Mumbai Bangkok Hanoi Manila Venice Lyon Porto Seville Krakow Riga Turin Bristol"
).split()
HELD_OUT_CITIES = "Helsinki Budapest Brussels Glasgow Valencia Dresden Montreal Santiago Osaka Florence".split()

JOBS = (
    "teacher baker farmer doctor nurse painter driver cook singer writer builder gardener pilot sailor tailor".split()
)
COLORS = "red blue green yellow white black brown orange pink purple gray golden".split()
FRUITS = "apple pear plum cherry grape lemon orange banana peach melon".split()
FOODS = "bread soup cheese rice pasta salad pizza cake pie honey jam eggs".split()
PETS = "cat dog rabbit hamster goldfish parrot pony turtle mouse duck".split()
HOBBIES = "reading swimming painting dancing singing cooking running fishing gardening chess".split()
COUNTABLES = (
    "apples pears books balls coins stars shells stones flowers eggs buttons cards cakes pencils nuts stickers marbles "
    "candles cookies beads"
).split()
HELD_OUT_COUNTABLES = "lemons ribbons feathers plates tickets".split()

ANIMALS = (
    "fox rabbit bear mouse owl cat dog frog duck squirrel hedgehog turtle pony lamb goat bird beaver badger otter deer "
    "kitten puppy hen penguin elephant lion monkey pig"
).split()

HELD_OUT_ANIMALS = "wolf koala zebra seal panda crow".split()
FOLK = "dragon wizard robot king queen prince princess pirate witch giant ghost unicorn fairy knight wizard dinosaur elf snowman".split()

# thing -> what to do with it
THINGS = {
    "lantern": "light the way at night",
    "kite": "fly it in the wind",
    "ball": "kick it across the grass",
    "drum": "play a merry beat on it",
    "book": "read it under a tree",
    "map": "find new places with it",
    "key": "open the little blue door",
    "boat": "sail it on the pond",
    "hat": "wear it on sunny days",
    "scarf": "wear it on cold days",
    "basket": "carry berries in it",
    "bell": "ring it in the morning",
    "flute": "play soft songs on it",
    "blanket": "sleep under it at night",
    "cup": "drink warm milk from it",
    "cart": "pull it up the hill",
    "ladder": "reach the high branches",
    "umbrella": "stay dry in the rain",
    "ring": "look at its bright stone",
    "mirror": "look at funny faces in it",
    "box": "keep small treasures in it",
    "clock": "tell the time with it",
    "bike": "ride it down the lane",
    "swing": "swing high in the air",
    "tent": "sleep in it under the stars",
    "bucket": "carry water in it",
    "candle": "light the room in the evening",
    "ribbon": "tie it in a bow",
    "shell": "hear the sea in it",
    "feather": "write letters with it",
    "coin": "buy sweet buns with it",
    "spoon": "stir the soup with it",
    "wagon": "ride in it with friends",
    "whistle": "blow it to call friends",
    "sled": "slide down the snowy hill",
    "teddy": "hug it at bedtime",
    "guitar": "play happy songs on it",
    "train": "let it run around the room",
    "puzzle": "put it together on the floor",
    "stick": "draw pictures in the sand with it",
    "broom": "sweep the floor with it",
    "pencil": "draw funny faces with it",
    "doll": "take it along everywhere",
    "robot": "make it walk and talk",
    "crown": "wear it like a king",
    "cake": "share it with everybody",
    "rope": "jump over it in the yard",
    "camera": "take pictures with it",
    "telescope": "look at the stars with it",
    "violin": "play slow songs on it",
}

OPPOSITES = [
    ("big", "small"),
    ("hot", "cold"),
    ("up", "down"),
    ("fast", "slow"),
    ("happy", "sad"),
    ("day", "night"),
    ("wet", "dry"),
    ("open", "closed"),
    ("old", "young"),
    ("light", "dark"),
    ("hard", "soft"),
    ("long", "short"),
    ("high", "low"),
    ("full", "empty"),
    ("good", "bad"),
    ("early", "late"),
    ("left", "right"),
    ("near", "far"),
    ("loud", "quiet"),
    ("clean", "dirty"),
    ("rich", "poor"),
    ("strong", "weak"),
    ("thick", "thin"),
    ("true", "false"),
    ("first", "last"),
    ("sweet", "sour"),
    ("awake", "asleep"),
    ("inside", "outside"),
]
CAPITALS = {
    "France": "Paris",
    "England": "London",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Norway": "Oslo",
    "Austria": "Vienna",
    "Portugal": "Lisbon",
    "Ireland": "Dublin",
    "Greece": "Athens",
    "Poland": "Warsaw",
    "Japan": "Tokyo",
    "Egypt": "Cairo",
    "Peru": "Lima",
    "Russia": "Moscow",
    "Cuba": "Havana",
    "Kenya": "Nairobi",
    "Finland": "Helsinki",
    "Hungary": "Budapest",
    "Belgium": "Brussels",
}
SOUNDS = {
    "cow": "moo",
    "cat": "meow",
    "dog": "woof",
    "duck": "quack",
    "sheep": "baa",
    "pig": "oink",
    "lion": "roar",
    "frog": "croak",
    "bee": "buzz",
    "owl": "hoot",
    "horse": "neigh",
    "mouse": "squeak",
    "hen": "cluck",
    "bird": "tweet",
    "snake": "hiss",
}
HOMES = {
    "fish": "in the water",
    "bird": "in a nest",
    "bee": "in a hive",
    "fox": "in a den",
    "bear": "in a cave",
    "dog": "in a house with people",
    "cow": "on a farm",
    "whale": "in the sea",
    "penguin": "where it is very cold",
    "camel": "in the desert",
    "monkey": "in the trees",
    "rabbit": "in a burrow",
    "frog": "near a pond",
    "lion": "in the grassland",
    "owl": "in the forest",
    "spider": "in a web",
}
LEGS = {
    "dog": 4,
    "cat": 4,
    "bird": 2,
    "spider": 8,
    "ant": 6,
    "bee": 6,
    "cow": 4,
    "fish": 0,
    "snake": 0,
    "hen": 2,
    "horse": 4,
    "duck": 2,
    "fly": 6,
    "person": 2,
    "frog": 4,
}
COLOR_OF = {
    "the sky": "blue",
    "grass": "green",
    "snow": "white",
    "the sun": "yellow",
    "a lemon": "yellow",
    "a banana": "yellow",
    "milk": "white",
    "blood": "red",
    "coal": "black",
    "the sea": "blue",
    "a tomato": "red",
    "a leaf": "green",
    "a carrot": "orange",
    "the night": "black",
    "a cloud": "white",
    "chocolate": "brown",
    "a frog": "green",
    "an orange": "orange",
    "a cherry": "red",
    "salt": "white",
}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()

COMMON = (
    "air arm art bag bank bath beach bean bed bench bone bottle bowl branch bread breakfast bridge broom brush building bus butter camera car "
    "card castle chair chalk cheek city class cloth cloud coat coffee cook corner country cow crown curtain dance desk dinner dirt door "
    "dragon dream dress drink dust ear earth engine evening eye face fair family farm father field finger fire floor flower foot forest "
    "fork friend game garage gate ghost giant gift glass glove gold grain grandfather grandmother hair hall hammer hand head heart hill "
    "hole holiday horse hospital hotel hour house island jacket juice jungle king kitchen knee knife lake lamp language leaf letter "
    "library lip lunch machine magic market meadow meat message metal milk mill minute money monster moon morning mother mountain mouth "
    "museum nail needle neck nest night noise nose ocean office oven page pan paper park party path pencil pepper person phone photo "
    "piano picture pillow pirate plane plant plate pocket poem police pond pool potato prince princess problem queen question radio "
    "rain rice river road robot rocket roof room rope rose sail salt sand school sea season secret shadow sheep ship shirt shoe shop "
    "silver sister sky smile smoke snow soap sock soil song sound square stairs stamp station stone storm story street student sugar "
    "summer sun table tail tea teacher team ticket tiger tooth tower town toy train tree truck uncle valley village voice wall watch "
    "water wave wheel wind window wing winter wizard wolf wood wool word work world yard year"
).split()
VERBS = (
    "swim fly run jump drive cook sing dance read write paint climb sleep eat drink laugh cry walk ride draw dream fish dig build clean "
    "wash play learn teach count hear see smell taste speak whisper shout draw hop skate ski sew knit bake hide"
).split()

_ONSETS = [
    "",
    "",
    *"b c d f g h j k l m n p qu r s t v w y z bl br ch cl cr dr fl fr gl gr kl pl pr sc sh sl sp st str sw th tr wh".split(),
]
_VOWELS = "a e i o u a e i o ai au ea ee ei ie oa oo ou".split()
_CODAS = ["", "", "", "", *"n r l s m t k d p g nd nt rt ll ss ck ng st x ff rn lk".split()]

_KNOWN_WORDS = [*ANIMALS, *COMMON, *FRUITS, *COLORS, *(name.lower() for name in (*GIRLS, *BOYS, *CITIES))]


def _syllables(r: Random) -> str:
    return "".join(r.choice(_ONSETS) + r.choice(_VOWELS) + r.choice(_CODAS) for _ in range(r.choice((1, 2, 2, 2, 3))))


def made_up_word(r: Random) -> str:
    """An invented word, which teaches the model to copy words that it has never seen.

    Syllables, two halves of different words, or a word with a letter changed; now and then with a letter that is not in
    the vocabulary, so that byte tokens are trained, too.
    """
    words = _KNOWN_WORDS
    form = r.random()
    if form < 0.45:
        word = _syllables(r)
    elif form < 0.8:
        first, second = r.choice(words), r.choice(words)
        word = first[: r.randint(1, len(first))] + second[r.randint(0, len(second) - 1) :]
    else:
        word = r.choice(words)
        at = r.randrange(len(word))
        word = word[:at] + r.choice("abcdefghijklmnopqrstuvwxyz") + word[at + r.randint(0, 1) :]
    if r.random() < 0.04:
        plain, accented = r.choice(
            [
                ("a", "\u00e5"),
                ("e", "\u00e9"),
                ("e", "\u00eb"),
                ("o", "\u00f6"),
                ("u", "\u00fc"),
                ("i", "\u00ed"),
                ("n", "\u00f1"),
                ("l", "\u0142"),
            ]
        )
        word = word.replace(plain, accented)
    return word if len(word) > 1 else _syllables(r) + r.choice("aeiou")


def made_up_person(r: Random) -> tuple[str, str]:
    """An invented name, and a gender that mostly follows from its ending."""
    name = made_up_word(r).capitalize()
    likely = "f" if name[-1] in "aei" else "m"
    return name, likely if r.random() < 0.9 else r.choice("fm")


class Lexicon:
    """Draws words for one split.

    `held_out` takes names, cities, animals and countables from the lists that training never uses. Otherwise many are
    made up, so that the model learns to copy, unless `plain` is set: what the model has to invent is always plain.
    """

    def __init__(self, held_out: bool, plain: bool = False) -> None:
        self.held_out, self.plain = held_out, plain

    def person(self, r: Random) -> tuple[str, str]:
        """A first name and its gender, 'f' or 'm'."""
        if not self.held_out and not self.plain and r.random() < 0.45:
            return made_up_person(r)
        return self.known_person(r)

    def known_person(self, r: Random) -> tuple[str, str]:
        """Like `person`, but never an invented name."""
        gender = r.choice("fm")
        if self.held_out:
            return r.choice(HELD_OUT_GIRLS if gender == "f" else HELD_OUT_BOYS), gender
        return r.choice(GIRLS if gender == "f" else BOYS), gender

    def name(self, r: Random) -> str:
        return self.person(r)[0]

    def city(self, r: Random) -> str:
        if self.held_out:
            return r.choice(HELD_OUT_CITIES)
        pick = 0.5 if self.plain else r.random()
        if pick < 0.4:
            return made_up_word(r).capitalize()
        city = r.choice(CITIES)
        return city if pick < 0.9 else r.choice(["New ", "San ", "Port ", "Saint ", "North "]) + city

    def animal(self, r: Random) -> str:
        return r.choice(HELD_OUT_ANIMALS if self.held_out else ANIMALS)

    def countable(self, r: Random) -> str:
        """Countable things in the plural."""
        if self.held_out:
            return r.choice(HELD_OUT_COUNTABLES)
        pick = r.random()
        return r.choice(COUNTABLES) if pick < 0.5 else (made_up_word(r) if pick < 0.75 else r.choice(COMMON)) + "s"

    def word(self, r: Random) -> str:
        """Any noun, including invented ones."""
        return made_up_word(r) if not self.held_out and not self.plain and r.random() < 0.4 else r.choice(COMMON)


def article(noun: str) -> str:
    """The noun with its indefinite article: `an owl`."""
    sounds_like_consonant = noun.startswith(("uni", "one", "eu"))
    return ("an " if noun[0] in "aeiou" and not sounds_like_consonant else "a ") + noun


def join_words(words: list[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
