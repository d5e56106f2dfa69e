"""A grammar of short stories in simple English.

A story is told from a small world (hero, friend, thing, place) that is drawn first, so that names, pronouns and things
stay the same from the first sentence to the last. Each plot is a list of sentences with alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from dialogue import Turn
from words import ANIMALS, COLORS, THINGS, Lexicon, article, made_up_name

TRAITS = "little small kind brave clever shy happy young funny gentle quiet curious".split()
HOMES = [
    "in a small house by the river", "in the green forest", "on a farm", "under an old oak tree", "near the sea",
    "on a green hill", "at the edge of a village", "in a cozy den", "beside a blue lake", "in a quiet valley",
    "next to a big garden", "in a house with a red door",
]
SPOTS = [
    "under the bed", "behind the tree", "in the tall grass", "by the river", "near the old well", "under the bridge",
    "in the barn", "on top of the hill", "behind the big rock", "in the garden", "beside the pond", "at the market",
]
STUCK_AT = ["under the bridge", "behind the big rock", "in the old well", "in the mud by the river", "under a fallen tree"]
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
    """Who and what a story is about."""

    hero: Being
    friend: Being
    thing: str
    color: str
    home: str
    trait: str
    spots: list[str]


def make_being(r: Random, lexicon: Lexicon, not_name: str = "", not_kind: str = "") -> Being:
    while True:
        name, gender = lexicon.known_person(r)
        if r.random() < 0.72:
            kind, is_animal = r.choice(ANIMALS), True
        else:
            kind, is_animal = ("girl" if gender == "f" else "boy"), False
        if name != not_name and kind != not_kind:
            return Being(kind, name, gender, is_animal)


def make_world(r: Random, lexicon: Lexicon) -> World:
    hero = make_being(r, lexicon)
    friend = make_being(r, lexicon, hero.name, hero.kind)
    home = r.choice(HOMES if hero.is_animal else [h for h in HOMES if "den" not in h.split() and "tree" not in h])
    return World(hero, friend, r.choice(list(THINGS)), r.choice(COLORS), home, r.choice(TRAITS), r.sample(SPOTS, 3))


def opening(r: Random, w: World) -> list[str]:
    h = w.hero
    kind = f"{w.trait} {h.kind}"
    return r.choice([
        [f"Once upon a time, there was {article(kind)} called {h.name}.", f"{h.He} lived {w.home}."],
        [f"Once there was {article(kind)} named {h.name} who lived {w.home}."],
        [f"{h.name} was {article(kind)}.", f"{h.He} lived {w.home}."],
        [f"There once lived {article(kind)} {w.home}.", f"{h.His} name was {h.name}."],
        [f"Once upon a time, {article(kind)} lived {w.home}.", f"Everyone called {h.him} {h.name}."],
    ])


def lost(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    use = THINGS[t]
    return [
        r.choice([f"{h.name} had {article(w.color)} {t} and loved it very much.", f"The thing {h.name} loved most was {h.his} {w.color} {t}."]),
        r.choice([f"Every day {h.he} liked to {use}.", f"With the {t}, {h.he} could {use}."]),
        r.choice(TIMES) + r.choice([f", the {t} was gone.", f", {h.he} could not find the {t}."]),
        r.choice([f"{h.name} was very sad.", f"{h.name} began to cry.", f"{h.name} did not know what to do."]),
        f"{h.He} looked {w.spots[0]}, but it was not there.",
        r.choice([f"Then {f.name} the {f.kind} came by.", f"Then {h.he} met {f.name} the {f.kind}."]),
        r.choice([f'"What is wrong?" asked {f.name}.', f'"Why are you sad?" asked {f.name}.']),
        f'"I lost my {t}," said {h.name}.',
        r.choice([f'"I will help you," said {f.name}.', f'"Do not worry, we will look together," said {f.name}.']),
        f"They looked {w.spots[1]} and then {w.spots[2]}.",
        r.choice([f"And there it was! The {t} lay {w.spots[2]}.", f"At last {f.name} saw something {w.color}. It was the {t}!"]),
        r.choice([f'"Thank you, {f.name}!" said {h.name} with a big smile.', f"{h.name} was so happy and gave {f.name} a hug."]),
        r.choice(["From that day on, they were best friends.", f"After that, {h.name} always took good care of the {t}."]),
    ]


def gift(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice([f"Soon it was the birthday of {f.name} the {f.kind}.", f"{h.name} had a good friend, {f.name} the {f.kind}, and {f.his} birthday was near."]),
        f"{h.name} wanted to give {f.him} something special.",
        r.choice([f'"I will make {article(t)}," {h.he} thought.', f'"{f.name} would love {article(t)}," {h.he} thought.']),
        r.choice([f"But {h.name} had never made {article(t)} before.", f"But it was not easy to make {article(t)}."]),
        r.choice([f"The first one broke, and the second one was too big.", f"First it was too small, and then it fell apart."]),
        r.choice([f"{h.name} did not give up.", f"{h.He} took a deep breath and tried again."]),
        r.choice([f"{h.He} worked all night.", f"{h.He} worked until the stars came out."]),
        f"In the morning, {article(w.color)} {t} stood on the table.",
        f'"Happy birthday, {f.name}!" said {h.name}.',
        r.choice([f'"{article(t).capitalize()}! Now I can {THINGS[t]}!" said {f.name}.', f"{f.name} could not wait to {THINGS[t]}."]),
        r.choice([f'"It is the best gift of all, because you made it," {f.he} said.', f"It was the best birthday that {f.name} ever had."]),
    ]


def found(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(TIMES) + f", {h.name} found {article(w.color)} {t} {w.spots[0]}.",
        r.choice([f'"What a lovely {t}!" {h.he} said.', f'"Oh, {article(t)}! With it I could {THINGS[t]}," {h.he} said.']),
        r.choice([f"{h.He} wanted to keep it, but it was not {h.his} {t}.", f"{h.name} liked it, but somebody must have lost it."]),
        r.choice([f"So {h.he} went from door to door and asked.", f"So {h.he} asked all the neighbors."]),
        r.choice([f'"It is not mine," said the baker.', f'"I have never seen it," said the old farmer.']),
        f"At last {h.he} came to the house of {f.name} the {f.kind}.",
        r.choice([f"{f.name} was sitting at the window and looked sad.", f"{f.name} sat {w.spots[1]} and cried."]),
        f'"Is this your {t}?" asked {h.name}.',
        r.choice([f'"Yes! I looked for it everywhere!" said {f.name}.', f'"My {t}! You found it!" said {f.name}.']),
        r.choice([f"{f.name} was so happy that {f.he} danced.", f"{f.name} jumped with joy."]),
        r.choice([f'"Come in and have some cake," {f.he} said.', f'"You are very honest. Let us play together," {f.he} said.']),
        r.choice([f"And so {h.name} found something better than {article(t)}: a new friend.", f"{h.name} went home with a warm heart."]),
    ]


def fear(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    what, test = r.choice([
        ("the dark", "One night, the moon was gone and it was very dark."), ("thunder", "One night, there was a loud storm."),
        ("deep water", "One day, they had to cross the river."), ("high places", "One morning, they had to climb the tall hill."),
        ("the old forest", "One evening, they had to walk through the old forest."),
    ])
    return [
        r.choice([f"{h.name} was afraid of {what}.", f"There was one thing that {h.name} did not like: {h.he} was afraid of {what}."]),
        f"{h.His} friend {f.name} the {f.kind} knew about it.",
        test,
        r.choice([f'"I am scared," said {h.name}.', f"{h.name} began to shake."]),
        r.choice([f"{f.name} gave {h.him} {article(w.color)} {t}.", f"Then {f.name} took out {article(w.color)} {t}."]),
        r.choice([f'"Hold my {t} and stay close to me," {f.he} said.', f'"When I am scared, this {t} helps me," {f.he} said.']),
        f"{h.name} held the {t} and took one small step.",
        r.choice([f"Then {h.he} took another one, and another one.", f"Nothing bad happened, so {h.he} took one more."]),
        r.choice([f"Soon it was over.", f"And then it was not so bad any more."]),
        r.choice([f'"I did it!" said {h.name}.', f'"Look, I am not afraid any more!" said {h.name}.']),
        r.choice([f'"You were brave all along," said {f.name}.', f'"I knew that you could do it," said {f.name}.']),
        r.choice([f"{h.name} learned that being brave is easier with a friend.", f"That night {h.name} slept very well."]),
    ]


def sharing(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        f"{h.name} had {article(w.color)} {t}.",
        r.choice([f"{h.He} liked to {THINGS[t]}.", f"It was fun to {THINGS[t]}."]),
        r.choice(TIMES) + f", {f.name} the {f.kind} came to play.",
        f'"May I have the {t}, too?" asked {f.name}.',
        r.choice([f'"No, it is mine!" said {h.name}.', f'"No! I do not want to share," said {h.name}.']),
        r.choice([f"{f.name} was sad and went home.", f"{f.name} sat down alone and said nothing."]),
        r.choice([f"{h.name} went on alone, but it was no fun.", f"Now {h.name} was alone, and the {t} was boring."]),
        r.choice([f"{h.He} thought about it for a long time.", f"{h.He} felt bad."]),
        f"Then {h.he} went to {f.name}.",
        r.choice([f'"I am sorry. Let us take turns," {h.he} said.', f'"I am sorry. Please come and play with me," {h.he} said.']),
        r.choice([f"{f.name} smiled, and they played until the sun went down.", f"{f.name} was happy again, and they laughed all day."]),
        r.choice([f"{h.name} learned that a thing is more fun when you share it.", f"From then on, {h.name} always shared the {t}."]),
    ]


def rescue(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    stuck = r.choice(STUCK_AT)
    return [
        r.choice(TIMES) + f", {h.name} went for a walk with {h.his} {w.color} {t}.",
        r.choice([f"Suddenly {h.he} heard a small voice.", f"Then {h.he} heard somebody cry."]),
        r.choice([f'"Help! Help!" it called.', f'"Please help me!" it called.']),
        r.choice([f"It was {f.name} the {f.kind}, who was stuck {stuck}.", f"{f.name} the {f.kind} was stuck {stuck} and could not get out."]),
        r.choice([f"{h.name} pulled, but {h.he} was not strong enough.", f"{h.name} pushed and pulled, but nothing moved."]),
        r.choice([f"Then {h.he} had an idea.", f'"Wait, I have an idea!" {h.he} said.']),
        f'"Take hold of my {t}," said {h.name}.',
        r.choice([f"{f.name} took hold of it, and {h.name} pulled with all {h.his} strength.", f"{f.name} held on tight, and {h.name} pulled one more time."]),
        r.choice([f"Pop! {f.name} was free.", f"One, two, three, and {f.name} was free!"]),
        r.choice([f'"You saved me!" said {f.name}.', f'"Thank you, thank you!" said {f.name}.']),
        r.choice([f"They went home together and had warm soup.", f"They sat down in the grass and shared an apple."]),
        r.choice([f"Since that day, {h.name} and {f.name} walk together every morning.", f"And {h.name} was proud of the {t} and of {h.his} good idea."]),
    ]


def storm(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(["One night, a big storm came.", "One day, the wind blew very hard and the rain fell."]),
        r.choice([f"It broke the roof of {f.name} the {f.kind}.", f"It blew away the house of {f.name} the {f.kind}."]),
        r.choice([f'"Where shall I sleep now?" cried {f.name}.', f"{f.name} was cold and wet."]),
        r.choice([f'"You can stay with me," said {h.name}.', f"{h.name} opened {h.his} door and let {f.him} in."]),
        r.choice([f"{h.He} gave {f.him} hot tea and {article(w.color)} {t}.", f"To cheer {f.him} up, {h.he} gave {f.him} {article(w.color)} {t}."]),
        r.choice([f'"With it you can {THINGS[t]}," {h.he} said.', f"Soon {f.name} felt better."]),
        r.choice(["In the morning, the sun was shining.", "The next day, the storm was over."]),
        r.choice([f"All the neighbors came to help.", f"{h.name} called all {h.his} friends."]),
        r.choice(["Some carried wood, and some carried stones.", "They worked together the whole day."]),
        r.choice([f"In the evening, {f.name} had a new house.", f"When the moon came up, the new house was ready."]),
        r.choice([f'"I have the best friends in the world," said {f.name}.', f'"Thank you all," said {f.name}, and {f.he} made a big cake.']),
    ]


def race(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice([f"There was a race in the village, and the prize was {article(w.color)} {t}.", f"Every summer there was a big race. This year the prize was {article(w.color)} {t}."]),
        r.choice([f'"With the {t} I could {THINGS[t]}," thought {h.name}.', f"{h.name} wanted to win it."]),
        r.choice([f"But {h.he} was not fast.", f"But everybody was faster than {h.him}."]),
        r.choice([f"So {h.he} ran up and down the hill every day.", f"So {h.he} got up early every day and ran."]),
        "Then the day of the race came.",
        r.choice([f"{h.name} ran as fast as {h.he} could, but {f.name} the {f.kind} was in front.", f"{h.name} ran and ran, and only {f.name} the {f.kind} was in front."]),
        r.choice([f"Then {f.name} fell and hurt {f.his} leg.", f"Then {f.name} slipped and fell into the mud."]),
        f"{h.name} stopped and helped {f.him} up.",
        r.choice(["They came to the end together.", "Side by side they walked to the end."]),
        r.choice(['"You were not the first, but you were the kindest," said the old owl.', '"A kind heart is worth more than fast legs," said the mayor.']),
        f"Then everyone clapped, and they gave the {t} to {h.name}.",
        r.choice([f"{h.name} and {f.name} shared it like good friends.", f"{h.name} was the happiest {h.kind} in the world."]),
    ]


def sick(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        f"{h.name} liked to play with {h.his} friend {f.name} the {f.kind}.",
        r.choice(TIMES) + f", {f.name} did not come.",
        r.choice([f"{h.name} went to {f.his} house and knocked at the door.", f"{h.name} waited and waited. Then {h.he} went to see {f.him}."]),
        r.choice([f"{f.name} was sick and lay in bed.", f"{f.name} had a bad cold."]),
        r.choice([f'"I cannot play today," said {f.name}.', f'"My head hurts," said {f.name}.']),
        r.choice([f"{h.name} made hot soup.", f"{h.name} brought some honey and warm milk."]),
        r.choice([f"{h.He} also brought {h.his} {w.color} {t}.", f"Then {h.he} ran home and came back with {article(w.color)} {t}."]),
        f'"It is for you. When you are well, we can {THINGS[t]}," {h.he} said.',
        r.choice([f"{f.name} smiled for the first time that day.", f"{f.name} was so glad that {f.he} forgot the pain."]),
        r.choice([f"{h.name} sat by the bed and told funny stories.", f"{h.name} came back every day."]),
        r.choice([f"After three days, {f.name} was well again.", f"Soon {f.name} could get up and play."]),
        r.choice([f"A good friend is the best medicine.", f'"You made me well," said {f.name}, and they went out to play.']),
    ]


def way_home(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    return [
        r.choice(TIMES) + f", {h.name} went far into the woods to look for berries.",
        r.choice([f"When it got dark, {h.he} did not know the way home.", f"{h.He} walked and walked, and then {h.he} was lost."]),
        r.choice([f'"What shall I do?" {h.he} said.', f"{h.He} sat down on a log and felt very alone."]),
        r.choice([f"Then {h.he} saw a light between the trees.", f"Then {h.he} heard soft steps."]),
        f"It was {f.name} the {f.kind} with {article(w.color)} {t}.",
        r.choice([f'"Are you lost?" asked {f.name}.', f'"Why are you here so late?" asked {f.name}.']),
        r.choice([f'"Yes, and I want to go home," said {h.name}.', f'"I cannot find my way," said {h.name}.']),
        r.choice([f'"Come with me. I know every path," said {f.name}.', f'"I will take you home," said {f.name}.']),
        r.choice([f"They walked past the old well and over the bridge.", f"They walked along the river until they saw the house."]),
        r.choice([f"On the way, {f.name} showed {h.him} how to use the {t}.", f"On the way, {h.name} carried the {t} for {f.him}."]),
        r.choice([f"At home, {h.his} mother was so glad that she hugged them both.", f"At home, {h.his} father made hot milk for them both."]),
        r.choice([f"{h.name} never went into the woods alone again.", f"And the next day, {h.name} brought {f.name} a basket of berries."]),
    ]


def newcomer(r: Random, w: World) -> list[str]:
    h, f, t = w.hero, w.friend, w.thing
    asker, other = r.choice([(h, f), (f, h)])
    return [
        r.choice([f"{h.name} had nobody to play with.", f"{h.name} was often alone."]),
        f"{h.He} had {article(w.color)} {t}, but playing alone was boring.",
        r.choice(TIMES) + ", a new family came to live next door.",
        r.choice([f"Their youngest child was {article(f.kind)} called {f.name}.", f"With them came {article(f.kind)} called {f.name}."]),
        r.choice([f"{f.name} was shy and hid behind {f.his} mother.", f"{f.name} looked over the fence and said nothing."]),
        r.choice([f'"Hello, I am {h.name}," said {h.name}.', f'"Hello! Do you want to see my {t}?" asked {h.name}.']),
        r.choice([f"{f.name} came one step closer.", f"{f.name} nodded slowly."]),
        f"{h.name} showed {f.him} the {t}.",
        r.choice([f'"Can we {THINGS[t]}?" asked {f.name}.', f'"I like your {t}," said {f.name}.']),
        r.choice(["Soon they were laughing together.", "They played the whole afternoon."]),
        f'"Shall we play again tomorrow?" asked {asker.name}.',
        r.choice([f'"Yes!" said {other.name}, and so they did, every day.', f'"Of course!" said {other.name}. And {h.name} was never alone again.']),
    ]


PLOTS = [lost, gift, found, fear, sharing, rescue, storm, sick, way_home, newcomer, race]
PLOTS_WITH_BIG_THINGS = [gift, found, sharing, newcomer, race]


def tell(r: Random, w: World) -> str:
    """The story of this world, in one paragraph."""
    plot = r.choice(PLOTS_WITH_BIG_THINGS if w.thing in BIG_THINGS else PLOTS)
    return " ".join(opening(r, w) + plot(r, w))


def request(r: Random, w: World, with_name: bool = False) -> str:
    """A user's wish for the story of this world; `with_name` makes it name the hero."""
    h = w.hero
    named = [f" about {article(h.kind)} called {h.name}", f" about {h.name} the {h.kind}" if h.is_animal else f" about {h.name} and {article(w.thing)}"]
    about = r.choice(named) if with_name else r.choice([
        f" about {article(h.kind)} and {article(w.thing)}", f" about {article(h.kind)} and {article(w.thing)}",
        f" about {article(h.kind)}", f" about {article(w.thing)}", "", *named,
        f" about {article(w.trait + ' ' + h.kind)} and {article(w.color + ' ' + w.thing)}",
        f" about {article(h.kind)}, {article(w.friend.kind)} and {article(w.thing)}",
    ])
    start = r.choice([
        "Tell me a story", "Tell me a story", "Tell me a short story", "Please tell me a story", "Write a story", "Write a short story",
        "Can you tell me a story", "I want to hear a story", "Tell a bedtime story", "Could you write a little story",
    ])
    return start + about + ("?" if start.startswith(("Can", "Could")) else ".")


def follow_up(r: Random, w: World) -> Turn:
    """A question about a story that was just told."""
    h, f = w.hero, w.friend
    return r.choice([
        Turn(f"What was the {h.kind} called?" if h.is_animal else "Who was the story about?", f"The {h.kind} was called {h.name}." if h.is_animal else f"It was about {h.name}."),
        Turn(f"Who was {f.name}?", f"{f.name} was the {f.kind} in the story." if f.is_animal else f"{f.name} was a {f.kind} in the story."),
        Turn(f"What color was the {w.thing}?", f"The {w.thing} was {w.color}."),
        Turn(f"Where did {h.name} live?", f"{h.name} lived {w.home}."),
        Turn(r.choice(["Thank you!", "Thanks, that was nice.", "I like this story."]), r.choice(["You are welcome! I am glad that you like it.", "I am happy that you like the story!"])),
        Turn(r.choice(["Give the story a title.", "What is a good title?"]), f"{h.name} and the {w.color.capitalize()} {w.thing.capitalize()}"),
    ])


def story_turns(r: Random, lexicon: Lexicon, with_follow_up: float = 0.3) -> list[Turn]:
    """A wish for a story and the story; sometimes a question about it."""
    w = make_world(r, lexicon)
    # An unusual name must come from the wish, so that the model copies it and does not make up names by itself.
    unusual = not lexicon.held_out and r.random() < 0.1
    if unusual:
        w.hero.name = made_up_name(r)
    turns = [Turn(request(r, w, with_name=unusual or lexicon.held_out), tell(r, w))]
    if r.random() < with_follow_up:
        turns.append(follow_up(r, w))
    return turns
