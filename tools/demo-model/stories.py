"""A grammar of short stories in simple English.

A story is told from a small world (hero, friend, thing, place) that is drawn first, so that names, pronouns and things
stay the same from the first sentence to the last. Each plot is a list of sentences with alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from dialogue import Turn
from words import (
    ANIMALS,
    COLORS,
    COMMON,
    FOLK,
    HELD_OUT_ANIMALS,
    THINGS,
    Lexicon,
    article,
    made_up_person,
    made_up_word,
)

TRAITS = "little small kind brave clever shy happy young funny gentle quiet curious".split()
HOMES = [
    "in a small house by the river",
    "in the green forest",
    "on a farm",
    "under an old oak tree",
    "near the sea",
    "on a green hill",
    "at the edge of a village",
    "in a cozy den",
    "beside a blue lake",
    "in a quiet valley",
    "next to a big garden",
    "in a house with a red door",
]
SPOTS = [
    "under the bed",
    "behind the tree",
    "in the tall grass",
    "by the river",
    "near the old well",
    "under the bridge",
    "in the barn",
    "on top of the hill",
    "behind the big rock",
    "in the garden",
    "beside the pond",
    "at the market",
]
STUCK_AT = [
    "under the bridge",
    "behind the big rock",
    "in the old well",
    "in the mud by the river",
    "under a fallen tree",
]
BIG_THINGS = {"swing", "tent", "ladder", "bike", "cart", "wagon", "sled", "boat", "clock"}
TIMES = ["One day", "One morning", "One sunny day", "One evening", "One afternoon", "One windy day"]


@dataclass
class Being:
    kind: str
    name: str
    gender: str
    is_animal: bool

    @property
    def he(self) -> str:
        return "she" if self.gender == "f" else "he"

    @property
    def him(self) -> str:
        return "her" if self.gender == "f" else "him"

    @property
    def his(self) -> str:
        return "her" if self.gender == "f" else "his"

    @property
    def He(self) -> str:
        return self.he.capitalize()

    @property
    def His(self) -> str:
        return self.his.capitalize()


@dataclass
class World:
    """The characters and things of a story."""

    hero: Being
    friend: Being
    thing: str
    color: str
    home: str
    trait: str
    spots: list[str]
    use: str


KNOWN = Lexicon(False)
FEMALE, MALE = {"queen", "princess", "witch", "fairy", "hen"}, {"king", "prince"}


def make_being(r: Random, lexicon: Lexicon, not_name: str = "", not_kind: str = "") -> Being:
    while True:
        name, gender = lexicon.known_person(r)
        pick = r.random()
        if pick < 0.62:
            kind, is_animal = lexicon.animal(r), True
        elif pick < 0.76:
            kind, is_animal = r.choice(FOLK), True
        else:
            kind, is_animal = ("girl" if gender == "f" else "boy"), False
        if kind in FEMALE and gender == "m" or kind in MALE and gender == "f":
            continue
        if name != not_name and kind != not_kind:
            return Being(kind, name, gender, is_animal)


def make_world(r: Random, lexicon: Lexicon) -> World:
    hero = make_being(r, lexicon)
    # The model chooses the friend's name, so it is a known one in every split.
    friend = make_being(r, KNOWN, hero.name, hero.kind)
    home = r.choice(HOMES if hero.is_animal else [h for h in HOMES if "den" not in h.split() and "tree" not in h])
    thing = r.choice(list(THINGS))
    return World(hero, friend, thing, r.choice(COLORS), home, r.choice(TRAITS), r.sample(SPOTS, 3), THINGS[thing])


def opening(r: Random, w: World) -> list[str]:
    h = w.hero
    kind = f"{w.trait} {h.kind}"
    return r.choice(
        [
            [f"Once upon a time, there was {article(kind)} called {h.name}.", f"{h.He} lived {w.home}."],
            [f"Once there was {article(kind)} named {h.name} who lived {w.home}."],
            [f"{h.name} was {article(kind)}.", f"{h.He} lived {w.home}."],
            [f"There once lived {article(kind)} {w.home}.", f"{h.His} name was {h.name}."],
            [f"Once upon a time, {article(kind)} lived {w.home}.", f"Everyone called {h.him} {h.name}."],
        ]
    )


def lost(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    use = w.use
    return [
        r.choice(
            [
                f"{h.name} had {article(w.color)} {t} and loved it very much.",
                f"The thing {h.name} loved most was {h.his} {w.color} {t}.",
            ]
        ),
        r.choice([f"Every day {h.he} liked to {use}.", f"With the {t}, {h.he} could {use}."]),
        r.choice(TIMES) + r.choice([f", the {t} was gone.", f", {h.he} could not find the {t}."]),
        r.choice([f"{h.name} was very sad.", f"{h.name} began to cry.", f"{h.name} did not know what to do."]),
        f"{h.He} looked {w.spots[0]}, but it was not there.",
        r.choice([f"Then {f.name} the {f.kind} came by.", f"Then {h.he} met {f.name} the {f.kind}."]),
        r.choice([f'"What is wrong?" asked {f.name}.', f'"Why are you sad?" asked {f.name}.']),
        f'"I lost my {t}," said {h.name}.',
        r.choice([f'"I will help you," said {f.name}.', f'"Do not worry, we will look together," said {f.name}.']),
        f"They looked {w.spots[1]} and then {w.spots[2]}.",
        r.choice(
            [
                f"And there it was! The {t} lay {w.spots[2]}.",
                f"At last {f.name} saw something {w.color}. It was the {t}!",
            ]
        ),
        r.choice(
            [
                f'"Thank you, {f.name}!" said {h.name} with a big smile.',
                f"{h.name} was so happy and gave {f.name} a hug.",
            ]
        ),
        r.choice(
            ["From that day on, they were best friends.", f"After that, {h.name} always took good care of the {t}."]
        ),
    ]


def gift(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(
            [
                f"Soon it was the birthday of {f.name} the {f.kind}.",
                f"{h.name} had a good friend, {f.name} the {f.kind}, and {f.his} birthday was near.",
            ]
        ),
        f"{h.name} wanted to give {f.him} something special.",
        r.choice(
            [f'"I will make {article(t)}," {h.he} thought.', f'"{f.name} would love {article(t)}," {h.he} thought.']
        ),
        r.choice([f"But {h.name} had never made {article(t)} before.", f"But it was not easy to make {article(t)}."]),
        r.choice(
            ["The first one broke, and the second one was too big.", "First it was too small, and then it fell apart."]
        ),
        r.choice([f"{h.name} did not give up.", f"{h.He} took a deep breath and tried again."]),
        r.choice([f"{h.He} worked all night.", f"{h.He} worked until the stars came out."]),
        f"In the morning, {article(w.color)} {t} stood on the table.",
        f'"Happy birthday, {f.name}!" said {h.name}.',
        r.choice(
            [f'"{article(t).capitalize()}! Now I can {w.use}!" said {f.name}.', f"{f.name} could not wait to {w.use}."]
        ),
        r.choice(
            [
                f'"It is the best gift of all, because you made it," {f.he} said.',
                f"It was the best birthday that {f.name} ever had.",
            ]
        ),
    ]


def found(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(TIMES) + f", {h.name} found {article(w.color)} {t} {w.spots[0]}.",
        r.choice([f'"What a lovely {t}!" {h.he} said.', f'"Oh, {article(t)}! With it I could {w.use}," {h.he} said.']),
        r.choice(
            [
                f"{h.He} wanted to keep it, but it was not {h.his} {t}.",
                f"{h.name} liked it, but somebody must have lost it.",
            ]
        ),
        r.choice([f"So {h.he} went from door to door and asked.", f"So {h.he} asked all the neighbors."]),
        r.choice(['"It is not mine," said the baker.', '"I have never seen it," said the old farmer.']),
        f"At last {h.he} came to the house of {f.name} the {f.kind}.",
        r.choice([f"{f.name} was sitting at the window and looked sad.", f"{f.name} sat {w.spots[1]} and cried."]),
        f'"Is this your {t}?" asked {h.name}.',
        r.choice([f'"Yes! I looked for it everywhere!" said {f.name}.', f'"My {t}! You found it!" said {f.name}.']),
        r.choice([f"{f.name} was so happy that {f.he} danced.", f"{f.name} jumped with joy."]),
        r.choice(
            [
                f'"Come in and have some cake," {f.he} said.',
                f'"You are very honest. Let us play together," {f.he} said.',
            ]
        ),
        r.choice(
            [
                f"And so {h.name} found something better than {article(t)}: a new friend.",
                f"{h.name} went home with a warm heart.",
            ]
        ),
    ]


def fear(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    what, test = r.choice(
        [
            ("the dark", "One night, the moon was gone and it was very dark."),
            ("thunder", "One night, there was a loud storm."),
            ("deep water", "One day, they had to cross the river."),
            ("high places", "One morning, they had to climb the tall hill."),
            ("the old forest", "One evening, they had to walk through the old forest."),
        ]
    )
    return [
        r.choice(
            [
                f"{h.name} was afraid of {what}.",
                f"There was one thing that {h.name} did not like: {h.he} was afraid of {what}.",
            ]
        ),
        f"{h.His} friend {f.name} the {f.kind} knew about it.",
        test,
        r.choice([f'"I am scared," said {h.name}.', f"{h.name} began to shake."]),
        r.choice([f"{f.name} gave {h.him} {article(w.color)} {t}.", f"Then {f.name} took out {article(w.color)} {t}."]),
        r.choice(
            [
                f'"Hold my {t} and stay close to me," {f.he} said.',
                f'"When I am scared, this {t} helps me," {f.he} said.',
            ]
        ),
        f"{h.name} held the {t} and took one small step.",
        r.choice(
            [f"Then {h.he} took another one, and another one.", f"Nothing bad happened, so {h.he} took one more."]
        ),
        r.choice(["Soon it was over.", "And then it was not so bad any more."]),
        r.choice([f'"I did it!" said {h.name}.', f'"Look, I am not afraid any more!" said {h.name}.']),
        r.choice([f'"You were brave all along," said {f.name}.', f'"I knew that you could do it," said {f.name}.']),
        r.choice(
            [f"{h.name} learned that being brave is easier with a friend.", f"That night {h.name} slept very well."]
        ),
    ]


def sharing(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        f"{h.name} had {article(w.color)} {t}.",
        r.choice([f"{h.He} liked to {w.use}.", f"It was fun to {w.use}."]),
        r.choice(TIMES) + f", {f.name} the {f.kind} came to play.",
        f'"May I have the {t}, too?" asked {f.name}.',
        r.choice([f'"No, it is mine!" said {h.name}.', f'"No! I do not want to share," said {h.name}.']),
        r.choice([f"{f.name} was sad and went home.", f"{f.name} sat down alone and said nothing."]),
        r.choice([f"{h.name} went on alone, but it was no fun.", f"Now {h.name} was alone, and the {t} was boring."]),
        r.choice([f"{h.He} thought about it for a long time.", f"{h.He} felt bad."]),
        f"Then {h.he} went to {f.name}.",
        r.choice(
            [
                f'"I am sorry. Let us take turns," {h.he} said.',
                f'"I am sorry. Please come and play with me," {h.he} said.',
            ]
        ),
        r.choice(
            [
                f"{f.name} smiled, and they played until the sun went down.",
                f"{f.name} was happy again, and they laughed all day.",
            ]
        ),
        r.choice(
            [
                f"{h.name} learned that a thing is more fun when you share it.",
                f"From then on, {h.name} always shared the {t}.",
            ]
        ),
    ]


def rescue(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    stuck = r.choice(STUCK_AT)
    return [
        r.choice(TIMES) + f", {h.name} went for a walk with {h.his} {w.color} {t}.",
        r.choice([f"Suddenly {h.he} heard a small voice.", f"Then {h.he} heard somebody cry."]),
        r.choice(['"Help! Help!" it called.', '"Please help me!" it called.']),
        r.choice(
            [
                f"It was {f.name} the {f.kind}, who was stuck {stuck}.",
                f"{f.name} the {f.kind} was stuck {stuck} and could not get out.",
            ]
        ),
        r.choice(
            [f"{h.name} pulled, but {h.he} was not strong enough.", f"{h.name} pushed and pulled, but nothing moved."]
        ),
        r.choice([f"Then {h.he} had an idea.", f'"Wait, I have an idea!" {h.he} said.']),
        f'"Take hold of my {t}," said {h.name}.',
        r.choice(
            [
                f"{f.name} took hold of it, and {h.name} pulled with all {h.his} strength.",
                f"{f.name} held on tight, and {h.name} pulled one more time.",
            ]
        ),
        r.choice([f"Pop! {f.name} was free.", f"One, two, three, and {f.name} was free!"]),
        r.choice([f'"You saved me!" said {f.name}.', f'"Thank you, thank you!" said {f.name}.']),
        r.choice(["They went home together and had warm soup.", "They sat down in the grass and shared an apple."]),
        r.choice(
            [
                f"Since that day, {h.name} and {f.name} walk together every morning.",
                f"And {h.name} was proud of the {t} and of {h.his} good idea.",
            ]
        ),
    ]


def storm(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(["One night, a big storm came.", "One day, the wind blew very hard and the rain fell."]),
        r.choice([f"It broke the roof of {f.name} the {f.kind}.", f"It blew away the house of {f.name} the {f.kind}."]),
        r.choice([f'"Where shall I sleep now?" cried {f.name}.', f"{f.name} was cold and wet."]),
        r.choice([f'"You can stay with me," said {h.name}.', f"{h.name} opened {h.his} door and let {f.him} in."]),
        r.choice(
            [
                f"{h.He} gave {f.him} hot tea and {article(w.color)} {t}.",
                f"To cheer {f.him} up, {h.he} gave {f.him} {article(w.color)} {t}.",
            ]
        ),
        r.choice([f'"With it you can {w.use}," {h.he} said.', f"Soon {f.name} felt better."]),
        r.choice(["In the morning, the sun was shining.", "The next day, the storm was over."]),
        r.choice(["All the neighbors came to help.", f"{h.name} called all {h.his} friends."]),
        r.choice(["Some carried wood, and some carried stones.", "They worked together the whole day."]),
        r.choice([f"In the evening, {f.name} had a new house.", "When the moon came up, the new house was ready."]),
        r.choice(
            [
                f'"I have the best friends in the world," said {f.name}.',
                f'"Thank you all," said {f.name}, and {f.he} made a big cake.',
            ]
        ),
    ]


def race(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(
            [
                f"There was a race in the village, and the prize was {article(w.color)} {t}.",
                f"Every summer there was a big race. This year the prize was {article(w.color)} {t}.",
            ]
        ),
        r.choice([f'"With the {t} I could {w.use}," thought {h.name}.', f"{h.name} wanted to win it."]),
        r.choice([f"But {h.he} was not fast.", f"But everybody was faster than {h.him}."]),
        r.choice([f"So {h.he} ran up and down the hill every day.", f"So {h.he} got up early every day and ran."]),
        "Then the day of the race came.",
        r.choice(
            [
                f"{h.name} ran as fast as {h.he} could, but {f.name} the {f.kind} was in front.",
                f"{h.name} ran and ran, and only {f.name} the {f.kind} was in front.",
            ]
        ),
        r.choice([f"Then {f.name} fell and hurt {f.his} leg.", f"Then {f.name} slipped and fell into the mud."]),
        f"{h.name} stopped and helped {f.him} up.",
        r.choice(["They came to the end together.", "Side by side they walked to the end."]),
        r.choice(
            [
                '"You were not the first, but you were the kindest," said the old owl.',
                '"A kind heart is worth more than fast legs," said the mayor.',
            ]
        ),
        f"Then everyone clapped, and they gave the {t} to {h.name}.",
        r.choice(
            [f"{h.name} and {f.name} shared it like good friends.", f"{h.name} was the happiest {h.kind} in the world."]
        ),
    ]


def sick(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        f"{h.name} liked to play with {h.his} friend {f.name} the {f.kind}.",
        r.choice(TIMES) + f", {f.name} did not come.",
        r.choice(
            [
                f"{h.name} went to {f.his} house and knocked at the door.",
                f"{h.name} waited and waited. Then {h.he} went to see {f.him}.",
            ]
        ),
        r.choice([f"{f.name} was sick and lay in bed.", f"{f.name} had a bad cold."]),
        r.choice([f'"I cannot play today," said {f.name}.', f'"My head hurts," said {f.name}.']),
        r.choice([f"{h.name} made hot soup.", f"{h.name} brought some honey and warm milk."]),
        r.choice(
            [
                f"{h.He} also brought {h.his} {w.color} {t}.",
                f"Then {h.he} ran home and came back with {article(w.color)} {t}.",
            ]
        ),
        f'"It is for you. When you are well, we can {w.use}," {h.he} said.',
        r.choice(
            [f"{f.name} smiled for the first time that day.", f"{f.name} was so glad that {f.he} forgot the pain."]
        ),
        r.choice([f"{h.name} sat by the bed and told funny stories.", f"{h.name} came back every day."]),
        r.choice([f"After three days, {f.name} was well again.", f"Soon {f.name} could get up and play."]),
        r.choice(
            ["A good friend is the best medicine.", f'"You made me well," said {f.name}, and they went out to play.']
        ),
    ]


def way_home(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(TIMES) + f", {h.name} went far into the woods to look for berries.",
        r.choice(
            [
                f"When it got dark, {h.he} did not know the way home.",
                f"{h.He} walked and walked, and then {h.he} was lost.",
            ]
        ),
        r.choice([f'"What shall I do?" {h.he} said.', f"{h.He} sat down on a log and felt very alone."]),
        r.choice([f"Then {h.he} saw a light between the trees.", f"Then {h.he} heard soft steps."]),
        f"It was {f.name} the {f.kind} with {article(w.color)} {t}.",
        r.choice([f'"Are you lost?" asked {f.name}.', f'"Why are you here so late?" asked {f.name}.']),
        r.choice([f'"Yes, and I want to go home," said {h.name}.', f'"I cannot find my way," said {h.name}.']),
        r.choice([f'"Come with me. I know every path," said {f.name}.', f'"I will take you home," said {f.name}.']),
        r.choice(
            [
                "They walked past the old well and over the bridge.",
                "They walked along the river until they saw the house.",
            ]
        ),
        r.choice(
            [
                f"On the way, {f.name} showed {h.him} how to use the {t}.",
                f"On the way, {h.name} carried the {t} for {f.him}.",
            ]
        ),
        r.choice(
            [
                f"At home, {h.his} mother was so glad that she hugged them both.",
                f"At home, {h.his} father made hot milk for them both.",
            ]
        ),
        r.choice(
            [
                f"{h.name} never went into the woods alone again.",
                f"And the next day, {h.name} brought {f.name} a basket of berries.",
            ]
        ),
    ]


def newcomer(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    asker, other = r.choice([(h, f), (f, h)])
    return [
        r.choice([f"{h.name} had nobody to play with.", f"{h.name} was often alone."]),
        f"{h.He} had {article(w.color)} {t}, but playing alone was boring.",
        r.choice(TIMES) + ", a new family came to live next door.",
        r.choice(
            [
                f"Their youngest child was {article(f.kind)} called {f.name}.",
                f"With them came {article(f.kind)} called {f.name}.",
            ]
        ),
        r.choice(
            [f"{f.name} was shy and hid behind {f.his} mother.", f"{f.name} looked over the fence and said nothing."]
        ),
        r.choice([f'"Hello, I am {h.name}," said {h.name}.', f'"Hello! Do you want to see my {t}?" asked {h.name}.']),
        r.choice([f"{f.name} came one step closer.", f"{f.name} nodded slowly."]),
        f"{h.name} showed {f.him} the {t}.",
        r.choice([f'"Can we {w.use}?" asked {f.name}.', f'"I like your {t}," said {f.name}.']),
        r.choice(["Soon they were laughing together.", "They played the whole afternoon."]),
        f'"Shall we play again tomorrow?" asked {asker.name}.',
        r.choice(
            [
                f'"Yes!" said {other.name}, and so they did, every day.',
                f'"Of course!" said {other.name}. And {h.name} was never alone again.',
            ]
        ),
    ]


def growing(r: Random, w: World) -> list[str]:
    h, f = w.hero, w.friend
    plant = r.choice(["flower", "tree", "pumpkin", "rose", "bean"])
    return [
        r.choice(
            [
                f"{h.name} found a small seed {w.spots[0]}.",
                f"One spring day, {h.name} got a small seed from the old farmer.",
            ]
        ),
        f"{h.He} put it into the earth next to {h.his} {w.color} {w.thing}.",
        r.choice([f"Every morning {h.he} gave it water.", f"{h.He} gave it water and sang a song for it."]),
        r.choice(["A day went by, and nothing happened.", "A week went by, and there was only earth."]),
        r.choice([f'"It will never grow," said {h.name}.', f"{h.name} was sad and wanted to give up."]),
        r.choice(
            [
                f'"You must wait," said {h.his} friend {f.name} the {f.kind}.',
                f'"Good things need time," said {f.name} the {f.kind}.',
            ]
        ),
        f"So {h.name} waited.",
        r.choice(["Then it rained, and then the sun came out.", "The sun was warm, and the rain was soft."]),
        r.choice(["One morning, there was a small green leaf!", "And then a tiny leaf came out of the earth!"]),
        f"The leaf grew and grew, and in summer it was a big {plant}.",
        r.choice([f'"It is beautiful!" said {f.name}.', f"{h.name} danced around it with {f.name}."]),
        r.choice([f"{h.name} learned to wait.", f"{h.name} gave the first seeds of the {plant} to {f.name}."]),
    ]


def show(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(["There was a big show in the village.", "Every year there was a big show at the market."]),
        r.choice(
            [
                f"{h.name} wanted to show a trick with {h.his} {w.color} {t}.",
                f"{h.name} wanted to sing a song with {h.his} {w.color} {t} in {h.his} hands.",
            ]
        ),
        r.choice([f"{h.He} practiced every day.", f"{h.He} practiced in the garden until it was dark."]),
        r.choice(
            [
                f"But on the day of the show, {h.he} was very nervous.",
                f"Then the evening came, and {h.his} heart beat fast.",
            ]
        ),
        r.choice([f'"What if I forget everything?" {h.he} said.', f'"Everybody will laugh at me," {h.he} said.']),
        f'"Just look at me," said {h.his} friend {f.name} the {f.kind}.',
        r.choice(
            [f"{h.name} stepped into the light and looked at {f.name}.", f"{f.name} sat in the first row and smiled."]
        ),
        r.choice([f"First {h.his} hands shook.", f"First {h.his} voice was very small."]),
        r.choice(["Then it got better and better.", f"Then {h.he} forgot that anybody was there."]),
        r.choice(["At the end, everybody clapped.", "When it was over, the whole village cheered."]),
        r.choice([f'"You were wonderful!" said {f.name}.', f'"I knew that you could do it!" said {f.name}.']),
        r.choice([f"{h.name} was proud and happy.", f"And {h.name} could not wait for the next show."]),
    ]


def snow(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(
            [
                f"One morning, {h.name} looked out of the window, and everything was white.",
                f"One winter day, {h.name} woke up and saw snow everywhere.",
            ]
        ),
        r.choice([f'"Snow!" {h.he} called and ran outside.', f"{h.He} put on {h.his} warm coat and ran outside."]),
        f"There {h.he} met {f.name} the {f.kind}.",
        r.choice(
            [f'"Let us build a snowman," said {f.name}.', f'"Do you want to build a snowman with me?" asked {f.name}.']
        ),
        r.choice(["They made one big ball and one small ball.", "They rolled the snow until their hands were cold."]),
        r.choice(
            [
                "They took two stones for the eyes and a carrot for the nose.",
                "They gave him a carrot nose and two black eyes.",
            ]
        ),
        f'"Something is missing," said {h.name}.',
        f"{h.He} ran home and came back with {article(w.color)} {t}.",
        r.choice([f"Now the snowman had {article(t)}, and he looked very fine.", f"They gave the {t} to the snowman."]),
        r.choice([f"{h.name} and {f.name} laughed and danced around him.", "Everybody who came by had to smile."]),
        r.choice(
            ["In the evening, they drank hot milk by the fire.", "When it got dark, they went in and had warm soup."]
        ),
        r.choice(
            [
                f"In spring the snowman was gone, but {h.name} and {f.name} were still friends.",
                f'"Good night, snowman," said {h.name}, and it seemed that he smiled.',
            ]
        ),
    ]


def baking(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    dish = r.choice(["an apple pie", "a big cake", "a pot of soup", "some sweet bread"])
    short = dish.split()[-1]
    return [
        r.choice(TIMES) + f", {h.name} wanted to make {dish}.",
        r.choice(
            [f"{h.He} looked into the kitchen, but there were no eggs.", f"{h.He} had milk and butter, but no flour."]
        ),
        f"So {h.he} went to {f.name} the {f.kind}.",
        r.choice([f'"Can you help me?" asked {h.name}.', f'"May I have a little of yours?" asked {h.name}.']),
        r.choice(
            [f'"Of course, but may I help you?" said {f.name}.', f'"Yes, if we can make it together," said {f.name}.']
        ),
        r.choice(
            [
                f"They cooked the whole morning, and {f.name} made a big mess.",
                f"There was flour on the floor and on {f.his} nose.",
            ]
        ),
        r.choice(
            [
                f"Then something smelled bad. The {short} was black!",
                f"But they talked too long, and the {short} burned.",
            ]
        ),
        r.choice([f"{h.name} was sad, but {f.name} laughed.", f'"Oh no!" said {h.name}.']),
        f'"We will try again," said {f.name}.',
        r.choice([f"The second {short} was perfect.", f"This time, the {short} was golden and warm."]).replace(
            "bread was golden", "bread was brown"
        ),
        r.choice(
            [
                f"They sat down under a tree with {h.his} {w.color} {t} and ate all of it.",
                f"They shared it with all the neighbors, and {h.name} gave {f.name} {article(w.color)} {t} to say thank you.",
            ]
        ),
        r.choice(
            [f"It was the best {short} that they ever had.", "Things taste better when you make them with a friend."]
        ),
    ]


PLOTS = [growing, show, snow, baking, lost, gift, found, fear, sharing, rescue, storm, sick, way_home, newcomer, race]
PLOTS_WITH_BIG_THINGS = [gift, found, growing, sharing, newcomer, race]
PLOTS_WITH_ANY_THING = [growing, sharing, newcomer, race]


def tell(r: Random, w: World) -> str:
    """The story of this world in one paragraph."""
    plot = r.choice(
        PLOTS_WITH_ANY_THING if w.thing not in THINGS else PLOTS_WITH_BIG_THINGS if w.thing in BIG_THINGS else PLOTS
    )
    return " ".join(opening(r, w) + plot(r, w))


def request(r: Random, w: World, with_name: bool = False) -> str:
    """A user's request for the story of this world; with `with_name`, it names the hero."""
    h = w.hero
    named = [
        f" about {article(h.kind)} called {h.name}",
        f" about {article(h.kind)} named {h.name}",
        f" about {h.name} the {h.kind}" if h.is_animal else f" about {h.name} and {article(w.thing)}",
        f" about {h.name}",
    ]
    about = (
        r.choice(named)
        if with_name
        else r.choice(
            [
                f" about {article(h.kind)} and {article(w.thing)}",
                f" about {article(h.kind)} and {article(w.thing)}",
                f" about {article(h.kind)}",
                f" about {article(w.thing)}",
                "",
                *named[:3],
                f" about {article(w.trait + ' ' + h.kind)} and {article(w.color + ' ' + w.thing)}",
                f" about {article(w.trait + ' ' + h.kind)}",
                f" about {article(h.kind)}, {article(w.friend.kind)} and {article(w.thing)}",
                f" about {article(h.kind)} and {article(w.friend.kind)}",
                f" about {article(h.kind)} with {article(w.color + ' ' + w.thing)}",
            ]
        )
    )
    start = r.choice(
        [
            "Tell me a story",
            "Tell me a story",
            "Tell me a short story",
            "Please tell me a story",
            "Write a story",
            "Write a short story",
            "Can you tell me a story",
            "I want to hear a story",
            "Tell a bedtime story",
            "Could you write a little story",
            "A story",
            "Give me a story",
            "Please write a short story",
            "I would like a story",
            "Make up a story",
        ]
    )
    return start + about + ("?" if start.startswith(("Can", "Could")) else r.choice([".", ".", ".", " please.", "!"]))


def surprise(r: Random, lexicon: Lexicon, w: World) -> bool:
    """Makes some heroes and things unusual; True if the hero's name must come from the request."""
    if lexicon.held_out:
        return True
    if r.random() < 0.12:
        w.hero.kind, w.hero.is_animal = (made_up_word(r) if r.random() < 0.4 else r.choice(COMMON)), True
    if r.random() < 0.15:
        w.thing = made_up_word(r) if r.random() < 0.4 else r.choice(COMMON)
        w.use = "play with it"
    if r.random() < 0.25:
        w.hero.name, gender = made_up_person(r)
        if gender != w.hero.gender and w.hero.is_animal and w.hero.kind not in FEMALE | MALE:
            w.hero.gender = gender
        return True
    return False


def follow_up(r: Random, w: World) -> Turn:
    """A question about a story that was just told."""
    h, f = w.hero, w.friend
    return r.choice(
        [
            Turn(
                f"What was the {h.kind} called?" if h.is_animal else "Who was the story about?",
                f"The {h.kind} was called {h.name}." if h.is_animal else f"It was about {h.name}.",
            ),
            Turn(
                f"Who was {f.name}?",
                f"{f.name} was the {f.kind} in the story." if f.is_animal else f"{f.name} was a {f.kind} in the story.",
            ),
            Turn(f"What color was the {w.thing}?", f"The {w.thing} was {w.color}."),
            Turn(f"Where did {h.name} live?", f"{h.name} lived {w.home}."),
            Turn(
                r.choice(["Thank you!", "Thanks, that was nice.", "I like this story."]),
                r.choice(["You are welcome! I am glad that you like it.", "I am happy that you like the story!"]),
            ),
            Turn(
                r.choice(["Give the story a title.", "What is a good title?"]),
                f"{h.name} and the {w.color.capitalize()} {w.thing.capitalize()}",
            ),
        ]
    )


def story_turns(r: Random, lexicon: Lexicon, with_follow_up: float = 0.3) -> list[Turn]:
    """A request for a story and the story; sometimes a question about it."""
    w = make_world(r, lexicon)
    # An unusual name must come from the request, so that the model learns to copy names instead of inventing them.
    with_name = surprise(r, lexicon, w)
    ask = request(r, w, with_name)
    is_unasked_thing = w.thing not in THINGS and w.thing not in ask
    is_unasked_kind = w.hero.kind not in (*ANIMALS, *HELD_OUT_ANIMALS, *FOLK, "girl", "boy") and w.hero.kind not in ask
    if is_unasked_thing or is_unasked_kind:
        return story_turns(r, lexicon, with_follow_up)
    turns = [Turn(ask, tell(r, w))]
    if r.random() < with_follow_up:
        turns.append(follow_up(r, w))
    return turns
