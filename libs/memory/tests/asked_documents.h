// What people and small teams keep, and what they ask about it: short notes, sentences, pages of a manual as
// one long text. Each question belongs to one text of its home; the strangers belong to none. What scores
// mean was chosen with the first half of the homes and of the strangers; the second half was kept apart.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace tertulia::trial {

enum class TextKind { kDocument, kLongDocument, kFact };

struct KnownText {
  std::string_view name;
  std::string_view text;
  TextKind kind = TextKind::kDocument;
};

struct AskedQuestion {
  std::string_view text;
  // The name of the text that answers it.
  std::string_view answer;
};

// What one collection holds.
struct AskedHome {
  std::string_view name;
  std::span<const KnownText> texts;
  std::span<const AskedQuestion> questions;
};

// The first half.

inline constexpr auto kShopTexts = std::to_array<KnownText>({
    {"hours",
     "# Opening hours\n\nThe shop is open from Monday to Friday from 9:00 to 18:30 and on Saturdays from "
     "10:00 "
     "to 14:00. On Sundays and public holidays it is closed.\n"},
    {"returns",
     "# Return policy\n\nUnused goods can be returned within 30 days with the receipt. The money is paid "
     "back "
     "to the card that was used. Bicycles that were ridden outside are exchanged, not refunded. Helmets "
     "cannot be returned once the seal is broken.\n"},
    {"repairs",
     "# Workshop\n\nA small inspection costs 39 euros, a large one 89 euros. Flat tyres are mended while you "
     "wait for 15 euros plus the tube. Please book other repairs a week ahead by telephone.\n"},
    {"delivery",
     "Orders above 50 euros are delivered free of charge, others for 4.90 euros. Parcels take two to three "
     "working days; bicycles are brought by our own van, which calls the evening before.\n"},
    {"vouchers",
     "Gift vouchers are sold at the counter and online in any amount from 10 euros on. They are valid for "
     "three years and cannot be exchanged for cash.\n"},
});
inline constexpr auto kShopQuestions = std::to_array<AskedQuestion>({
    {"When does the shop open on Saturdays?", "hours"},
    {"Are you open on Sunday?", "hours"},
    {"What are your opening hours?", "hours"},
    {"Until when can I come by on a Friday evening?", "hours"},
    {"Can I return a helmet?", "returns"},
    {"How many days do I have to send something back?", "returns"},
    {"Do I get my money back if I don't like the bike?", "returns"},
    {"How much does a large inspection cost?", "repairs"},
    {"What do you charge for a flat tyre?", "repairs"},
    {"Do I need an appointment for a repair?", "repairs"},
    {"How much is shipping?", "delivery"},
    {"How long does the delivery of a parcel take?", "delivery"},
    {"How long is a gift voucher valid?", "vouchers"},
    {"Can I get cash for my voucher?", "vouchers"},
});

inline constexpr auto kFlatTexts = std::to_array<KnownText>({
    {"wifi", "The wifi is called Casa-Azul and its password is blue-tiles-42.\n"},
    {"bins",
     "# Rubbish\n\nThe grey bin is emptied every Tuesday, paper on the first Friday of the month. Glass goes "
     "to the container at the corner of the street. Put the bins out the evening before.\n"},
    {"heating",
     "# Heating\n\nThe thermostat hangs in the corridor. Between ten at night and six in the morning it "
     "turns "
     "down to 17 degrees by itself. If the radiators stay cold, press the red button on the boiler in the "
     "cellar for five seconds.\n"},
    {"keys",
     "The key box is to the left of the entrance, behind the ivy. The code is 7315. Put the keys back into "
     "it "
     "when you leave.\n"},
    {"rules",
     "# House rules\n\nPlease be quiet from 22:00 on. Smoking is allowed on the balcony only. Pets are "
     "welcome "
     "if they stay off the beds. Check-out is at eleven.\n"},
    {"parking",
     "Our parking space is number 12 in the underground garage. The gate opens with the small grey remote "
     "control in the drawer of the hall.\n"},
});
inline constexpr auto kFlatQuestions = std::to_array<AskedQuestion>({
    {"What is the wifi password?", "wifi"},
    {"How do I get onto the internet here?", "wifi"},
    {"What is the name of the network?", "wifi"},
    {"When is the rubbish collected?", "bins"},
    {"Where do I throw away empty bottles?", "bins"},
    {"The radiators are cold, what can I do?", "heating"},
    {"How do I change the temperature?", "heating"},
    {"Where are the keys?", "keys"},
    {"What is the code of the key box?", "keys"},
    {"May I bring my dog?", "rules"},
    {"Is smoking allowed?", "rules"},
    {"When do we have to leave on the last day?", "rules"},
    {"Where can I park my car?", "parking"},
    {"How do I open the gate of the garage?", "parking"},
});

inline constexpr auto kMachineTexts = std::to_array<KnownText>({
    {"manual",
     "Bellana 3 espresso machine, instructions for use. Before the first use, rinse the water tank, fill it "
     "up to the mark with fresh cold water and let two cups of water run through without coffee. Switch the "
     "machine on with the round button on the left side. The lamp blinks while it heats up and stays lit as "
     "soon as it is ready, after about 40 seconds. Put freshly ground coffee into the filter holder, one "
     "level spoon for a single and two for a double espresso, press it down lightly, and turn the holder to "
     "the right until it sits tight. Place a cup below it and press the button with the cup. The machine "
     "stops by itself after 30 millilitres; to change the amount, hold the button until enough coffee has "
     "run out, and the machine remembers it. For milk foam turn the steam knob to the left, wait until only "
     "steam comes out, and hold the nozzle just below the surface of cold milk in a steel jug. Wipe the "
     "nozzle with a damp cloth after each use, or dried milk will block it. Empty the drip tray when the red "
     "float becomes visible. Once a week take out the brewing group, rinse it under warm running water "
     "without soap and let it dry before you put it back. Descale the machine every two months, or when the "
     "orange lamp tells you to: fill the tank with one litre of water and one bag of descaler, put a large "
     "bowl below the outlet, press both buttons for three seconds and wait for 25 minutes; rinse twice with "
     "clear water afterwards. If no coffee comes out, the coffee is ground too finely, the filter is blocked "
     "or the tank is empty. If the coffee is cold, warm the cups and let the machine heat for five minutes. "
     "If the machine is loud, there is no water in the pump; fill the tank and run water through the steam "
     "nozzle. Do not put any part into the dishwasher except for the drip tray. Unplug the machine before "
     "you clean it, and never put it into water. The mains cable must be replaced by the service only. The "
     "machine takes 1,350 watts, weighs 4.2 kilograms and holds 1.1 litres of water. The warranty lasts two "
     "years from the day of purchase; damage by limescale is not covered. Spare parts are ordered with the "
     "number on the plate below the tank.\n",
     TextKind::kLongDocument},
    {"tea", "Tea is made with the small kettle beside the sink, not with the coffee machine.\n"},
});
inline constexpr auto kMachineQuestions = std::to_array<AskedQuestion>({
    {"How often should I descale the coffee machine?", "manual"},
    {"What does the orange lamp mean?", "manual"},
    {"Why does no coffee come out?", "manual"},
    {"How do I make milk foam?", "manual"},
    {"Can the drip tray go into the dishwasher?", "manual"},
    {"How long is the warranty?", "manual"},
    {"How many watts does the machine take?", "manual"},
    {"How do I clean the brewing group?", "manual"},
    {"The espresso is cold, what is wrong?", "manual"},
    {"How do I make tea?", "tea"},
});

inline constexpr auto kPersonTexts = std::to_array<KnownText>({
    {"lives", "I live in Lisbon, near the river", TextKind::kFact},
    {"job", "I work as a nurse at the children's hospital", TextKind::kFact},
    {"dog", "My dog is called Rex and is nine years old", TextKind::kFact},
    {"food", "I am allergic to peanuts", TextKind::kFact},
    {"sister", "My sister Clara gets married in June", TextKind::kFact},
    {"sport", "I swim every Wednesday evening", TextKind::kFact},
    {"car", "I sold my car and ride a bicycle now", TextKind::kFact},
    {"language", "I am learning Japanese", TextKind::kFact},
});
inline constexpr auto kPersonQuestions = std::to_array<AskedQuestion>({
    {"Where do I live?", "lives"},
    {"What is my job?", "job"},
    {"What is the name of my dog?", "dog"},
    {"How old is Rex?", "dog"},
    {"Am I allergic to anything?", "food"},
    {"When is Clara's wedding?", "sister"},
    {"When do I go swimming?", "sport"},
    {"Do I have a car?", "car"},
    {"Which language am I learning?", "language"},
});

inline constexpr auto kFirstHomes = std::to_array<AskedHome>({
    {"shop", kShopTexts, kShopQuestions},
    {"flat", kFlatTexts, kFlatQuestions},
    {"machine", kMachineTexts, kMachineQuestions},
    {"person", kPersonTexts, kPersonQuestions},
});
inline constexpr auto kFirstStrangers = std::to_array<std::string_view>({
    "Write a regular expression for dates.",
    "What is the capital of Mongolia?",
    "Translate 'good evening' into Finnish.",
    "How do I centre a div?",
    "Tell me a joke about accountants.",
    "Add 10 and 20",
    "Who won the world cup in 1998?",
    "Please shorten this email to my landlord.",
    "What rhymes with silver?",
    "Convert 30 degrees Celsius to Fahrenheit.",
    "Explain the difference between a list and a tuple.",
    "Who painted the ceiling of the Sistine Chapel?",
    "Hello!",
    "Thanks, that helped a lot.",
    "Which novels did Jane Austen write?",
    "How do vaccines work?",
    "What is the square root of 1764?",
    "Summarise the plot of Hamlet.",
    "Is Pluto a planet?",
    "Why do cats purr?",
    "Can you check my essay for spelling mistakes?",
    "What happened in Berlin in 1989?",
    "How do I reverse a linked list in Python?",
    "Recommend a film for tonight.",
});

// The second half.

inline constexpr auto kOfficeTexts = std::to_array<KnownText>({
    {"handbook",
     "Handbook for everybody who works with us. The usual working week has 38 hours, and between ten and "
     "three everybody should be reachable; the rest is up to you and your team. Two days a week may be "
     "worked from home without asking; more than that is agreed with the team lead. Everybody has 28 days of "
     "paid holiday a year. Ask for it in the calendar at least two weeks ahead; up to five days can be taken "
     "over into the next year, until the end of March. If you are ill, write to your team lead before nine "
     "in the morning; from the third day on we need a note from the doctor. When a child is ill, ten more "
     "paid days a year are yours. Parents may take up to three years of leave and come back to the same "
     "post. Expenses are paid back at the end of the month: photograph the receipt, put it into the expenses "
     "folder and write what it was for; meals are covered up to 35 euros a day, hotels up to 140 euros a "
     "night. Trains are booked in second class, flights only where the train takes longer than six hours. "
     "Every new colleague gets a laptop and, on demand, a second screen; lost or stolen devices must be "
     "reported to the help desk within the hour. Passwords are kept in the password manager and never "
     "written into chats. Visitors sign in at the reception and are accompanied all the time. Salaries are "
     "paid on the 25th of each month. They are looked at once a year, in October, together with a talk "
     "about what you want to learn; for courses and books there are 1,200 euros a year for each. The trial "
     "period lasts six months, with two weeks' notice on both sides; afterwards it is three months to the "
     "end "
     "of a quarter. Whoever sees something that is not right can turn to the person of trust, Ms Okafor, "
     "who tells nobody without being asked to. The kitchen is cleaned by all of us in turn; the plan hangs "
     "on the fridge. Fruit and coffee are free. On the last Thursday of the month we cook together.\n",
     TextKind::kLongDocument},
    {"room",
     "The large meeting room is on the second floor and holds twelve people. It is booked in the shared "
     "calendar. The projector needs the adapter from the top drawer.\n"},
    {"printer",
     "# Printer\n\nThe printer stands next to the kitchen. Paper is in the cupboard below it. When it "
     "reports "
     "a paper jam, open the back flap and pull the sheet out slowly.\n"},
});
inline constexpr auto kOfficeQuestions = std::to_array<AskedQuestion>({
    {"How many days of holiday do I have?", "handbook"},
    {"What do I do when I am ill?", "handbook"},
    {"When are salaries paid?", "handbook"},
    {"How much may a hotel cost on a business trip?", "handbook"},
    {"Can I work from home?", "handbook"},
    {"How long is the trial period?", "handbook"},
    {"My laptop was stolen, whom do I tell?", "handbook"},
    {"Is there a budget for courses?", "handbook"},
    {"How many people fit into the meeting room?", "room"},
    {"Where is the adapter for the projector?", "room"},
    {"There is a paper jam in the printer.", "printer"},
    {"Where do I find printer paper?", "printer"},
});

inline constexpr auto kDoctorTexts = std::to_array<KnownText>({
    {"hours",
     "The practice is open on weekdays from 8 to 12, on Mondays and Thursdays also from 15 to 18. In "
     "emergencies outside these hours call 116117.\n"},
    {"appointments",
     "# Appointments\n\nAppointments are made on the website or by telephone. If you cannot come, cancel at "
     "least 24 hours before, or we have to charge 40 euros.\n"},
    {"prescriptions",
     "# Prescriptions\n\nRepeat prescriptions are ordered by email until noon and can be fetched the next "
     "working day. Bring your insurance card once every quarter.\n"},
    {"blood",
     "For a blood test please come with an empty stomach: eat and drink nothing but water for twelve hours. "
     "Results are there after three days.\n"},
    {"vaccination",
     "Flu vaccinations are given from October on, without an appointment, every Wednesday morning. Bring "
     "your vaccination record.\n"},
});
inline constexpr auto kDoctorQuestions = std::to_array<AskedQuestion>({
    {"When is the practice open on Thursday?", "hours"},
    {"Whom do I call in an emergency at night?", "hours"},
    {"How do I make an appointment?", "appointments"},
    {"What happens if I miss my appointment?", "appointments"},
    {"I need a new prescription, how do I get one?", "prescriptions"},
    {"Do I have to bring my insurance card?", "prescriptions"},
    {"May I eat before the blood test?", "blood"},
    {"When do I get the results of my blood test?", "blood"},
    {"When can I get a flu shot?", "vaccination"},
    {"Do I need an appointment for the vaccination?", "vaccination"},
});

inline constexpr auto kProjectTexts = std::to_array<KnownText>({
    {"build",
     "# Building\n\nRun `make setup` once, then `make build`. The tests run with `make test`; a single one "
     "with `make test ONLY=name`. Python 3.11 or newer is needed.\n"},
    {"deploy",
     "# Deployment\n\nEvery merge into main is deployed to staging by itself. Production is released on "
     "Tuesdays: tag the commit with the version, wait for the pipeline to become green and press Approve. To "
     "roll back, run the pipeline of the tag before.\n"},
    {"database",
     "# Database\n\nThe database is PostgreSQL 15 on the host db-1. Backups are made every night at two and "
     "kept for 30 days. Access is requested from the platform team.\n"},
    {"oncall",
     "# On call\n\nWhoever is on call carries the red telephone from Monday to Monday. Answer alerts within "
     "15 minutes. The list of names is pinned in the channel #operations.\n"},
    {"style",
     "# Style\n\nLines have at most 100 characters. Code is formatted with black before it is committed. "
     "Every "
     "change needs one review by somebody else.\n"},
});
inline constexpr auto kProjectQuestions = std::to_array<AskedQuestion>({
    {"How do I run a single test?", "build"},
    {"Which version of Python do we need?", "build"},
    {"When do we release to production?", "deploy"},
    {"How do I roll back a release?", "deploy"},
    {"How long are backups kept?", "database"},
    {"Which database do we use?", "database"},
    {"How fast must I react to an alert?", "oncall"},
    {"Who is on call this week?", "oncall"},
    {"How long may a line be?", "style"},
    {"Who has to review my change?", "style"},
});

inline constexpr auto kFriendTexts = std::to_array<KnownText>({
    {"name", "My name is Mateo and I am 34 years old", TextKind::kFact},
    {"work", "I am a carpenter and have my own workshop", TextKind::kFact},
    {"home", "We moved to a farmhouse outside of Graz last year", TextKind::kFact},
    {"children", "I have two daughters, Lia and Emma", TextKind::kFact},
    {"diet", "I don't eat meat", TextKind::kFact},
    {"music", "I play the cello in an orchestra", TextKind::kFact},
    {"coffee", "I drink my coffee black, without sugar", TextKind::kFact},
    {"flight", "My flight to Oslo leaves on 12 May at 7:40", TextKind::kFact},
});
inline constexpr auto kFriendQuestions = std::to_array<AskedQuestion>({
    {"What is my name?", "name"},
    {"How old am I?", "name"},
    {"What do I do for a living?", "work"},
    {"Where is our house?", "home"},
    {"What are my daughters called?", "children"},
    {"Am I a vegetarian?", "diet"},
    {"Which instrument do I play?", "music"},
    {"How do I take my coffee?", "coffee"},
    {"When does my flight leave?", "flight"},
});

inline constexpr auto kSecondHomes = std::to_array<AskedHome>({
    {"office", kOfficeTexts, kOfficeQuestions},
    {"doctor", kDoctorTexts, kDoctorQuestions},
    {"project", kProjectTexts, kProjectQuestions},
    {"friend", kFriendTexts, kFriendQuestions},
});
inline constexpr auto kSecondStrangers = std::to_array<std::string_view>({
    "Sort these numbers: 3, 9, 1",
    "How far away is the moon?",
    "Which day is it today?",
    "Suggest a name for a start-up that sells umbrellas.",
    "What does HTTP 418 mean?",
    "Give me five synonyms of beautiful.",
    "Is a whale a fish?",
    "Draft a birthday message for my aunt.",
    "Why is the sky blue?",
    "How do I boil an egg?",
    "Who was the first woman in space?",
    "Good morning, how are you?",
    "Explain photosynthesis to a child.",
    "What is the difference between affect and effect?",
    "Write a haiku about autumn.",
    "How many inches are a metre?",
    "What is a prime number?",
    "Tell me about the French Revolution.",
    "OK, go on.",
    "Which is longer, the Nile or the Amazon?",
    "Make a packing list for a week of hiking.",
    "How do I tie a tie?",
    "What causes earthquakes?",
    "Rewrite this sentence in the passive voice.",
});

}  // namespace tertulia::trial
