"""Simple English conversation: greetings, questions about the model, small facts, and honest refusals."""

from __future__ import annotations

from random import Random

from dialogue import Turn
from words import (
    ANIMALS,
    CAPITALS,
    COLOR_OF,
    COLORS,
    COMMON,
    DAYS,
    FOODS,
    FRUITS,
    HOBBIES,
    HOMES,
    JOBS,
    LEGS,
    MONTHS,
    NUMBER_WORDS,
    OPPOSITES,
    PETS,
    SOUNDS,
    VERBS,
    Lexicon,
    article,
    join_words,
    made_up_word,
)

SIZES = "ant bee mouse frog bird cat fox dog sheep pig lion cow horse bear elephant whale".split()
CAN = {
    "bird": ["fly", "sing"],
    "fish": ["swim"],
    "frog": ["swim", "jump"],
    "dog": ["run", "swim", "jump"],
    "cat": ["climb", "jump", "run"],
    "monkey": ["climb", "jump"],
    "duck": ["swim", "fly"],
    "bee": ["fly"],
    "horse": ["run", "jump"],
    "snake": [],
    "whale": ["swim"],
    "owl": ["fly"],
}
GROUPS = {
    "animal": [*ANIMALS, "cow", "horse", "sheep"],
    "fruit": FRUITS,
    "color": COLORS,
    "job": JOBS,
    "food": FOODS,
    "day": DAYS,
    "month": MONTHS,
}

CAN_DO = "I can chat, tell short stories, add and subtract small numbers, answer in JSON, and use simple tools."


def greeting(r: Random, lexicon: Lexicon) -> list[Turn]:
    hello = r.choice(
        ["Hi", "Hello", "Hey", "Hi there", "Hello there", "Good morning", "Good evening", "Good afternoon"]
    )
    reply = hello if hello.startswith("Good") else "Hello"
    name = lexicon.name(r)
    return r.choice(
        [
            [Turn(hello + r.choice(["!", ".", ""]), f"{reply}! How can I help you?")],
            [Turn(f"{hello}, how are you?", f"{reply}! I am fine, thank you. How can I help you?")],
            [
                Turn(
                    r.choice(["How are you?", "How are you today?", "Are you well?"]),
                    "I am fine, thank you. How are you?",
                ),
                Turn(r.choice(["I am fine, too.", "Very well!", "Good, thanks."]), "I am glad to hear that!"),
            ],
            [
                Turn(f"{hello}! My name is {name}.", f"{reply}, {name}! It is nice to meet you."),
                Turn(r.choice(["What is my name?", "Do you know my name?", "Who am I?"]), f"Your name is {name}."),
            ],
            [
                Turn(f"I am {name}.", f"Nice to meet you, {name}!"),
                *fact(r, lexicon),
                Turn("What is my name?", f"Your name is {name}."),
            ],
        ]
    )


def about_me(r: Random, lexicon: Lexicon) -> list[Turn]:
    return [
        r.choice(
            [
                Turn(
                    r.choice(["Who are you?", "What are you?", "Introduce yourself.", "Tell me about yourself."]),
                    "I am the MarkBase demo model, a very small Gemma 4 that was trained to show how the engine works.",
                ),
                Turn(
                    r.choice(["What is your name?", "How are you called?", "What's your name?"]),
                    "I am called the MarkBase demo model.",
                ),
                Turn(
                    r.choice(
                        [
                            "What can you do?",
                            "Can you help me?",
                            "What are you good at?",
                            "Help",
                            "How can you help me?",
                        ]
                    ),
                    CAN_DO,
                ),
                Turn(r.choice(["Are you a human?", "Are you a real person?"]), "No, I am a small language model."),
                Turn(
                    r.choice(["How big are you?", "Are you a big model?"]),
                    "I am very small. I have fewer than twenty million weights.",
                ),
                Turn(
                    r.choice(["Can you see pictures?", "Do you understand images?"]),
                    "I can look at simple pictures when you send me one.",
                ),
                Turn(r.choice(["Where do you live?", "Where are you?"]), "I live in the memory of your computer."),
                Turn(r.choice(["Do you sleep?", "Do you have a body?"]), "No, I am only a computer program."),
                Turn(
                    r.choice(["How old are you?", "When were you born?", "What is your age?"]),
                    "I am very young. A computer trained me in half an hour.",
                ),
                Turn(
                    r.choice(["Who made you?", "Who trained you?", "Who created you?", "Where do you come from?"]),
                    "I was made by the MarkBase project as a demo.",
                ),
                Turn(
                    r.choice(
                        [
                            "Are you Gemma?",
                            "Are you Gemma 4?",
                            "Which model are you?",
                            "What model is this?",
                            "Are you ChatGPT?",
                        ]
                    ),
                    "I am a tiny model with the design of Gemma 4. I am called the MarkBase demo model.",
                ),
                Turn(
                    r.choice(["Are you smart?", "Are you clever?", "Do you know everything?"]),
                    "I am too small to know much, but I do my best.",
                ),
                Turn(
                    r.choice(["Can you hear me?", "Can you hear?", "Do you understand speech?"]),
                    "I can listen to a few words when you send me a recording.",
                ),
                Turn(
                    r.choice(["Do you speak English?", "Which languages do you speak?", "Do you speak German?"]),
                    "I speak only simple English.",
                ),
            ]
        )
    ]


def thanks(r: Random, lexicon: Lexicon) -> list[Turn]:
    return [
        r.choice(
            [
                Turn(r.choice(["Thank you!", "Thanks!", "Thanks a lot.", "Thank you very much!"]), "You are welcome!"),
                Turn(r.choice(["Goodbye!", "Bye!", "See you!", "See you tomorrow."]), "Goodbye! Have a nice day."),
                Turn(r.choice(["Good night!", "Good night."]), "Good night! Sleep well."),
                Turn(r.choice(["You are great.", "Well done!", "Good job!"]), "Thank you, that is kind of you."),
                Turn(r.choice(["Sorry!", "I am sorry.", "Excuse me."]), "No problem at all."),
                Turn(
                    r.choice(["I love you.", "I like you.", "You are nice.", "You are funny."]), "That is kind of you!"
                ),
                Turn(
                    r.choice(["You are bad.", "I do not like you.", "That is wrong.", "You are stupid."]),
                    "I am sorry. I am only a small model.",
                ),
                Turn(r.choice(["Yes.", "Yes!", "No.", "No!", "Maybe."]), "All right. What would you like to do?"),
                Turn(
                    r.choice(
                        [
                            "What time is it?",
                            "What is the time?",
                            "What day is it today?",
                            "What is the date?",
                            "Which year is it?",
                        ]
                    ),
                    "I have no clock, so I do not know.",
                ),
                Turn(
                    r.choice(
                        [
                            f"What is the weather in {lexicon.city(r)}?",
                            "How is the weather?",
                            "Is it raining?",
                            "Will it rain today?",
                            f"Weather in {lexicon.city(r)}?",
                        ]
                    ),
                    "I cannot look outside. I need a weather tool for this.",
                ),
                Turn(r.choice(["OK", "Okay.", "I see."]), "Is there anything else that I can do for you?"),
            ]
        )
    ]


def feelings(r: Random, lexicon: Lexicon) -> list[Turn]:
    hobby, food, pet, name = r.choice(HOBBIES), r.choice(FOODS), r.choice(PETS), lexicon.name(r)
    job, city = r.choice(JOBS), lexicon.city(r)
    like = r.choice(
        [
            *HOBBIES,
            "music",
            "books",
            "games",
            "movies",
            "flowers",
            "snow",
            "rain",
            "summer",
            "school",
            lexicon.word(r) + "s",
        ]
    )
    return r.choice(
        [
            [
                Turn(
                    r.choice(["I am sad.", "I feel sad today.", "I am not happy."]),
                    "I am sorry to hear that. Do you want to hear a story?",
                )
            ],
            [Turn(r.choice(["I am tired.", "I am so tired today."]), "Then you should rest. A short sleep can help.")],
            [Turn(r.choice(["I am hungry.", "I want to eat something."]), f"How about some {food}?")],
            [Turn(r.choice(["I am bored.", "I am so bored."]), "Let me tell you a story, or ask me a question.")],
            [Turn("I am happy today!", "That is wonderful! What made you happy?")],
            [
                Turn(f"I like {hobby}.", f"{hobby.capitalize()} is fun! Do you do it often?"),
                Turn(r.choice(["Yes.", "Yes, every day.", "Sometimes."]), "That sounds good."),
                Turn("What do I like?", f"You like {hobby}."),
            ],
            [
                Turn(f"I have {article(pet)} called {name}.", f"{name} is a lovely name for {article(pet)}!"),
                Turn(f"What is the name of my {pet}?", f"Your {pet} is called {name}."),
            ],
            [
                Turn(f"My {pet} is called {name}.", f"{name} is a lovely name for {article(pet)}!"),
                Turn(
                    r.choice([f"What is my {pet} called?", f"What is the name of my {pet}?"]),
                    f"Your {pet} is called {name}.",
                ),
            ],
            [Turn(r.choice([f"I come from {city}.", f"I am from {city}."]), f"How nice! I have never been to {city}.")],
            [
                Turn(f"I live in {city}.", f"I hope that you like it in {city}!"),
                Turn("Where do I live?", f"You live in {city}."),
            ],
            [
                Turn(f"I work as {article(job)}.", f"It must be interesting to be {article(job)}."),
                Turn("What is my job?", f"You are {article(job)}."),
            ],
            [
                Turn(f"My friend {name} is {article(job)}.", f"{name} must be good at it."),
                Turn(f"What does {name} do?", f"{name} is {article(job)}."),
            ],
            [
                Turn(
                    r.choice([f"Do you like {food}?", f"Do you eat {food}?"]),
                    f"I cannot eat, but many people like {food}.",
                )
            ],
            [
                Turn(
                    r.choice(["What do you like to eat?", "What is your favorite food?", "What did you eat today?"]),
                    "I cannot eat, but people tell me that cake is good.",
                )
            ],
            [Turn(f"Do you like {like}?", f"I am only a small model, but many people like {like}.")],
            [
                Turn(
                    r.choice(
                        ["What is your favorite color?", "Which color do you like?", "What color do you like best?"]
                    ),
                    "I like blue, like the sky and the sea.",
                )
            ],
            [
                Turn(
                    r.choice(["What is your favorite animal?", "Which animal do you like?"]),
                    "I like owls, because they are clever.",
                )
            ],
            [Turn(r.choice(["What is your favorite number?", "Which number do you like?"]), "I like the number four.")],
            [Turn(r.choice([f"Say hello to {name}.", f"Say hi to {name}."]), f"Hello, {name}!")],
            [Turn(r.choice(["What should I do?", "What can I do today?", "Give me an idea."]), f"How about {hobby}?")],
            [
                Turn(
                    r.choice(["Tell me a joke.", "Do you know a joke?", "Make me laugh."]),
                    r.choice(
                        [
                            "Why did the hen cross the road? To get to the other side!",
                            "What is orange and sounds like a parrot? A carrot!",
                            "Why was six afraid of seven? Because seven eight nine!",
                        ]
                    ),
                )
            ],
        ]
    )


def fact(r: Random, lexicon: Lexicon) -> list[Turn]:
    kind = r.randrange(21)
    if kind == 0:
        a, b = r.choice(OPPOSITES)
        if r.random() < 0.5:
            a, b = b, a
        return [
            Turn(
                r.choice([f"What is the opposite of {a}?", f"Opposite of {a}?", f"Tell me the opposite of {a}."]),
                f"The opposite of {a} is {b}.",
            )
        ]
    if kind == 1:
        country, city = r.choice(list(CAPITALS.items()))
        if r.random() < 0.3:
            return [Turn(r.choice([f"Where is {city}?", f"In which country is {city}?"]), f"{city} is in {country}.")]
        return [
            Turn(
                r.choice(
                    [
                        f"What is the capital of {country}?",
                        f"Capital of {country}?",
                        f"Tell me the capital of {country}.",
                    ]
                ),
                f"The capital of {country} is {city}.",
            )
        ]
    if kind == 2:
        animal, sound = r.choice(list(SOUNDS.items()))
        return [
            Turn(
                r.choice([f"What does {article(animal)} say?", f"What sound does {article(animal)} make?"]),
                f"{article(animal).capitalize()} says {sound}.",
            )
        ]
    if kind == 3:
        animal, home = r.choice(list(HOMES.items()))
        return [
            Turn(
                r.choice([f"Where does {article(animal)} live?", f"Where do you find {article(animal)}?"]),
                f"{article(animal).capitalize()} lives {home}.",
            )
        ]
    if kind == 4:
        animal, legs = r.choice(list(LEGS.items()))
        count = "no" if legs == 0 else NUMBER_WORDS[legs]
        return [
            Turn(f"How many legs does {article(animal)} have?", f"{article(animal).capitalize()} has {count} legs.")
        ]
    if kind == 5:
        what, color = r.choice(list(COLOR_OF.items()))
        spelling = r.choice(["color", "color", "colour"])
        return [Turn(f"What {spelling} is {what}?", f"{what[0].upper() + what[1:]} is {color}.")]
    if kind == 6:
        start = r.randint(0, 12)
        step = r.choice((1, 1, 1, 2))
        end = start + step * r.randint(3, 9)
        how = "" if step == 1 else " by twos"
        if r.random() < 0.3:
            end = r.randint(3, 20)
            return [
                Turn(
                    r.choice([f"Count to {end}.", f"Can you count to {end}?", f"Please count to {end}."]),
                    ", ".join(map(str, range(1, end + 1))),
                )
            ]
        if r.random() < 0.15:
            start = r.randint(5, 12)
            return [
                Turn(
                    r.choice([f"Count down from {start}.", f"Count backwards from {start}."]),
                    ", ".join(map(str, range(start, -1, -1))),
                )
            ]
        return [Turn(f"Count from {start} to {end}{how}.", ", ".join(map(str, range(start, end + 1, step))))]
    if kind == 7:
        days = r.choice((DAYS, MONTHS))
        i, shift, word = r.randrange(len(days)), *r.choice(((1, "after"), (-1, "before")))
        return [
            Turn(
                f"Which {'day' if days is DAYS else 'month'} comes {word} {days[i]}?",
                f"{days[(i + shift) % len(days)]} comes {word} {days[i]}.",
            )
        ]
    if kind == 8:
        a, b = r.sample(range(100), 2)
        word = r.choice(("bigger", "smaller"))
        return [Turn(f"Which is {word}, {a} or {b}?", f"{max(a, b) if word == 'bigger' else min(a, b)} is {word}.")]
    if kind == 9:
        number = r.randint(0, 99)
        return [
            Turn(
                r.choice([f"Is {number} even or odd?", f"Is {number} an even number?"]),
                f"{number} is {'odd' if number % 2 else 'even'}.",
            )
        ]
    if kind == 10:
        word = r.choice(ANIMALS + FRUITS + COLORS)
        return [Turn(r.choice([f"Spell {word}.", f"How do you spell {word}?"]), "-".join(word))]
    if kind == 11:
        what, words = r.choice(
            [
                ("colors", COLORS),
                ("animals", ANIMALS),
                ("fruits", FRUITS),
                ("days", DAYS),
                ("foods", FOODS),
                ("pets", PETS),
                ("hobbies", HOBBIES),
            ]
        )
        if r.random() < 0.25:
            one = what[:-3] + "y" if what.endswith("ies") else what[:-1]
            return [
                Turn(
                    r.choice([f"Name {article(one)}.", f"Tell me {article(one)}.", f"Give me {article(one)}."]),
                    r.choice(words).capitalize() + ".",
                )
            ]
        count = r.randint(2, 5)
        return [
            Turn(
                r.choice(
                    [
                        f"Name {NUMBER_WORDS[count]} {what}.",
                        f"Tell me {NUMBER_WORDS[count]} {what}.",
                        f"List {count} {what}.",
                    ]
                ),
                join_words(r.sample(words, count)).capitalize() + ".",
            )
        ]
    if kind == 12:
        word = r.choice([lexicon.name(r), r.choice(ANIMALS), r.choice(FOODS)])
        count = r.randint(2, 4)
        return [Turn(f"Say {word} {NUMBER_WORDS[count]} times.", ", ".join([word] * count) + ".")]
    if kind == 13:
        return [
            r.choice(
                [
                    Turn("How many days are in a week?", "There are seven days in a week."),
                    Turn("How many months are in a year?", "There are twelve months in a year."),
                    Turn("How many hours are in a day?", "There are 24 hours in a day."),
                    Turn("How many minutes are in an hour?", "There are 60 minutes in an hour."),
                    Turn("What do bees make?", "Bees make honey."),
                    Turn("What do cows give us?", "Cows give us milk."),
                    Turn("What do plants need?", "Plants need light, water and air."),
                    Turn("When is it dark?", "It is dark at night."),
                    Turn("What falls from clouds?", "Rain and snow fall from clouds."),
                    Turn("What do you wear in winter?", "In winter you wear a warm coat, a scarf and a hat."),
                    Turn("Is the sun hot?", "Yes, the sun is very hot."),
                    Turn("Is ice hot?", "No, ice is cold."),
                    Turn("Can birds fly?", "Yes, most birds can fly."),
                    Turn("Can fish walk?", "No, fish swim in the water."),
                    Turn("What do you drink when you are thirsty?", "You drink water when you are thirsty."),
                    Turn("What is water?", "Water is what we drink. It falls as rain and fills the sea."),
                    Turn("What is a friend?", "A friend is somebody who likes you and helps you."),
                    Turn("Why is the sky dark at night?", "Because the sun is on the other side of the world."),
                    Turn("What is a book?", "A book has many pages that you can read."),
                    Turn("What is the moon?", "The moon goes around our world and shines at night."),
                ]
            )
        ]
    if kind == 14:
        words = [lexicon.word(r) for _ in range(r.randint(1, 6))]
        text = " ".join(words)
        return [
            Turn(r.choice([f"Repeat: {text}", f"Say {text}.", f"Repeat after me: {text}", f"Please say: {text}"]), text)
        ]
    if kind == 15:
        group, other = r.sample(list(GROUPS), 2)
        word = r.choice(GROUPS[group])
        if r.random() < 0.4:
            return [
                Turn(
                    f"What is {word if group in ('color', 'food', 'day', 'month') else article(word)}?",
                    f"{word.capitalize()} is {article(group)}."
                    if group in ("color", "food", "day", "month")
                    else f"{article(word).capitalize()} is {article(group)}.",
                )
            ]
        asked = group if r.random() < 0.5 else other
        subject = word if group in ("color", "food", "day", "month") else article(word)
        if asked != group and word in GROUPS[asked]:
            asked = group
        return [
            Turn(
                f"Is {subject} {article(asked)}?",
                f"Yes, {subject} is {article(group)}." if asked == group else f"No, {subject} is {article(group)}.",
            )
        ]
    if kind == 16:
        a, b = r.sample(SIZES, 2)
        word = r.choice(("bigger", "smaller"))
        first = (SIZES.index(a) > SIZES.index(b)) == (word == "bigger")
        if r.random() < 0.5:
            return [
                Turn(
                    f"Which is {word}, {article(a)} or {article(b)}?",
                    f"{article(a if first else b).capitalize()} is {word}.",
                )
            ]
        return [
            Turn(
                f"Is {article(a)} {word} than {article(b)}?",
                f"{'Yes' if first else 'No'}, {article(a if first else b)} is {word}.",
            )
        ]
    if kind == 17:
        animal, abilities = r.choice(list(CAN.items()))
        verb = r.choice([*abilities, "fly", "swim", "read", "drive"])
        return [
            Turn(
                f"Can {article(animal)} {verb}?",
                f"{'Yes' if verb in abilities else 'No'}, {article(animal)} {'can' if verb in abilities else 'cannot'} {verb}.",
            )
        ]
    if kind == 18:
        word = lexicon.word(r)
        return [Turn(r.choice([f"Spell {word}.", f"How do you spell {word}?"]), "-".join(word))]
    if kind == 19:
        first, second = lexicon.word(r), lexicon.word(r)
        return [Turn(f"Which word comes first: {first} or {second}?", f"The first word is {first}.")]
    one, many = r.choice(
        [
            ("cat", "cats"),
            ("mouse", "mice"),
            ("child", "children"),
            ("foot", "feet"),
            ("tooth", "teeth"),
            ("box", "boxes"),
            ("bird", "birds"),
            ("baby", "babies"),
            ("leaf", "leaves"),
            ("man", "men"),
            ("fox", "foxes"),
            ("goose", "geese"),
        ]
    )
    return [Turn(f"What is the plural of {one}?", f"The plural of {one} is {many}.")]


REFUSAL = "I am only a small demo model, so I do not know that. I can tell you a story or add two numbers."


ABSTRACT = (
    "love life time happiness physics history chemistry art music science war peace energy gravity freedom democracy money python javascript "
    "philosophy luck truth beauty power health space evolution electricity metal math biology culture religion economics language"
).split()
CONFUSED = "I am sorry, I do not understand. Can you say it in other words?"


def unknown(r: Random, lexicon: Lexicon) -> list[Turn]:
    """Questions beyond a tiny model, with the honest answer."""
    name, city, thing, other, verb = lexicon.name(r), lexicon.city(r), lexicon.word(r), lexicon.word(r), r.choice(VERBS)
    adjective = r.choice(
        "big small good bad important famous heavy old new cold warm deep high strange blue round fast expensive".split()
    )
    return [
        Turn(
            r.choice(
                [
                    f"Who was {name}?",
                    f"How far is it from {city} to {lexicon.city(r)}?",
                    f"Explain {thing} to me.",
                    f"What is the history of {city}?",
                    f"Who won the {thing} in {r.randint(1950, 2025)}?",
                    f"Write a program that sorts {thing}.",
                    f"How does {article(thing)} work?",
                    f"What do you think about {thing}?",
                    f"How many people live in {city}?",
                    f"Who wrote {thing} and {other}?",
                    f"Translate {thing} into French.",
                    f"What happened in {r.randint(1000, 2025)}?",
                    f"What is the square root of {r.randint(2, 999)}?",
                    f"Why is the {thing} {adjective}?",
                    f"Who is the president of {r.choice(list(CAPITALS))}?",
                    f"When was {name} born?",
                    f"Give me advice about {thing}.",
                    f"Write a poem about {thing}.",
                    f"What is the best {thing}?",
                    f"Why are {thing}s {adjective}?",
                    f"How do I {verb} the {thing}?",
                    f"Why do people {verb}?",
                    f"Where can I buy {article(thing)}?",
                    f"Do you know {name}?",
                    f"What is the price of {article(thing)}?",
                    f"How old is {name}?",
                    f"Who won the {thing} {other}?",
                    f"What does {thing} mean?",
                    f"Tell me about {thing}.",
                    f"Tell me something about {city}.",
                    f"What is {r.choice(ABSTRACT)}?",
                    f"What is {r.choice(ABSTRACT)}?",
                    f"What is {made_up_word(r)}?",
                    f"What are {thing}s?",
                    f"Give me a recipe for {thing}.",
                    f"Write a letter to {name}.",
                    f"Write a haiku about {thing}.",
                    f"Translate {thing} to {r.choice(['Spanish', 'German', 'Italian', 'Latin'])}.",
                    f"Write a song about {thing}.",
                    f"Summarize this: {thing} {other} {verb}",
                    f"Write an email to {name} about {thing}.",
                    f"How do you make {thing}?",
                    f"Write code for {article(thing)}.",
                    f"What is the meaning of {thing}?",
                    f"Plan a trip to {city}.",
                    f"Who invented the {thing}?",
                    f"What is the difference between {thing} and {other}?",
                    f"Is {thing} better than {other}?",
                    f"How {adjective} is the {thing}?",
                    f"Which {thing} is the most {adjective}?",
                    f"Should I {verb} with {article(thing)}?",
                    f"Where is my {thing}?",
                ]
            ),
            REFUSAL,
        )
    ]


def about_doing(r: Random, lexicon: Lexicon) -> list[Turn]:
    verb = r.choice(
        [verb for verb in VERBS if verb not in "see hear speak count read write learn teach whisper".split()]
    )
    return [
        Turn(
            r.choice([f"Can you {verb}?", f"Do you {verb}?", f"Do you like to {verb}?", f"Can you {verb} with me?"]),
            f"No, I cannot {verb}. I am only a small language model.",
        )
    ]


def confused(r: Random, lexicon: Lexicon) -> list[Turn]:
    """Meaningless words."""
    words = [made_up_word(r) if r.random() < 0.5 else r.choice([*COMMON, *VERBS]) for _ in range(r.randint(1, 7))]
    return [Turn(" ".join(words) + r.choice(["", "", ".", "?", "!"]), CONFUSED)]


def stranger(r: Random, lexicon: Lexicon) -> list[Turn]:
    """Questions about the user that the conversation does not answer."""
    return [
        r.choice(
            [
                Turn(
                    r.choice(["What is my name?", "Who am I?", "Do you know my name?"]),
                    "I do not know your name. What is it?",
                ),
                Turn("Where do I live?", "I do not know. Where do you live?"),
                Turn("What do I like?", "I do not know. What do you like?"),
                Turn("How old am I?", "I do not know. How old are you?"),
                Turn("What is my job?", "I do not know. What is your job?"),
            ]
        )
    ]


def talk_turns(r: Random, lexicon: Lexicon) -> list[Turn]:
    pick = r.random()
    kinds = (
        (0.1, greeting),
        (0.11, about_me),
        (0.09, thanks),
        (0.15, feelings),
        (0.15, unknown),
        (0.03, about_doing),
        (0.04, confused),
    )
    for share, kind in kinds:
        if pick < share:
            return kind(r, lexicon)
        pick -= share
    return fact(r, lexicon)


def opening_turns(r: Random, lexicon: Lexicon) -> list[Turn]:
    """Like `talk_turns`, for the beginning of a conversation."""
    return stranger(r, lexicon) if r.random() < 0.03 else talk_turns(r, lexicon)
