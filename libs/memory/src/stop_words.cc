#include "stop_words.h"

#include <array>

namespace tertulia {
namespace {

using WordSet = std::unordered_set<std::string_view>;

const WordSet& english_words() {
  static const WordSet words = {
      "a",     "an",    "the",   "and",     "or",      "but",     "if",      "of",      "at",     "by",
      "for",   "with",  "about", "against", "between", "into",    "through", "during",  "before", "after",
      "above", "below", "to",    "from",    "up",      "down",    "in",      "out",     "on",     "off",
      "over",  "under", "again", "further", "then",    "once",    "here",    "there",   "all",    "any",
      "both",  "each",  "few",   "more",    "most",    "other",   "some",    "such",    "no",     "nor",
      "not",   "only",  "own",   "same",    "so",      "than",    "too",     "very",    "s",      "t",
      "can",   "will",  "just",  "don",     "should",  "now",     "i",       "me",      "my",     "mine",
      "we",    "our",   "ours",  "you",     "your",    "yours",   "he",      "him",     "his",    "she",
      "her",   "hers",  "it",    "its",     "they",    "them",    "their",   "theirs",  "what",   "which",
      "who",   "whom",  "whose", "this",    "that",    "these",   "those",   "am",      "is",     "are",
      "was",   "were",  "be",    "been",    "being",   "have",    "has",     "had",     "having", "do",
      "does",  "did",   "doing", "done",    "would",   "could",   "ll",      "re",      "ve",     "d",
      "m",     "how",   "when",  "where",   "why",     "as",      "while",   "because", "until",  "im",
      "us",    "also",  "get",   "got",     "isn",     "aren",    "wasn",    "weren",   "hasn",   "haven",
      "hadn",  "doesn", "didn",  "wouldn",  "couldn",  "shouldn", "might",   "must"};
  return words;
}

// Of the other languages, those that tell it and those that are words of English, or names, as well.
const WordSet& german_telling() {
  static const WordSet words = {
      "ich",    "und",     "der",     "das",     "ist",    "nicht",  "ein",    "eine",   "einen",  "einem",
      "einer",  "wir",     "ihr",     "sie",     "mit",    "auf",    "fur",    "von",    "zu",     "zum",
      "zur",    "dem",     "den",     "des",     "als",    "auch",   "aber",   "oder",   "wenn",   "dass",
      "habe",   "haben",   "hatte",   "hatten",  "bist",   "sind",   "seid",   "wird",   "werden", "wurde",
      "wurden", "mein",    "meine",   "meinen",  "meinem", "meiner", "dein",   "deine",  "deinen", "sein",
      "seine",  "ihre",    "ihren",   "unser",   "unsere", "mich",   "mir",    "dich",   "dir",    "uns",
      "euch",   "ihn",     "ihm",     "ihnen",   "wo",     "wer",    "wann",   "wie",    "wem",    "wen",
      "welche", "welcher", "welches", "welchen", "warum",  "wieso",  "bei",    "beim",   "nach",   "aus",
      "uber",   "unter",   "vor",     "durch",   "gegen",  "ohne",   "um",     "bis",    "noch",   "schon",
      "nur",    "sehr",    "mehr",    "kein",    "keine",  "keinen", "doch",   "dann",   "hier",   "dort",
      "es",     "er",      "du",      "kann",    "konnen", "konnte", "muss",   "mussen", "soll",   "sollen",
      "wollen", "etwas",   "nichts",  "alles",   "dieser", "diese",  "dieses", "diesen", "jeder",  "jede",
      "einmal", "immer",   "vom",     "ans",     "ins",    "gibt",   "gab",    "wollte", "heisst"};
  return words;
}
const WordSet& german_also() {
  static const WordSet words = {"die", "was", "in", "an", "so", "war", "hat",
                                "man", "am",  "ab", "da", "im", "bin", "will"};
  return words;
}

const WordSet& spanish_telling() {
  static const WordSet words = {
      "el",      "la",      "los",    "las",     "que",      "de",       "en",      "un",      "una",
      "unos",    "unas",    "es",     "del",     "al",       "se",       "su",      "sus",     "mi",
      "mis",     "tu",      "tus",    "yo",      "nosotros", "nosotras", "ustedes", "ellos",   "ellas",
      "ella",    "lo",      "le",     "les",     "nos",      "con",      "para",    "por",     "porque",
      "pero",    "muy",     "mas",    "ya",      "esta",     "este",     "esto",    "estos",   "estas",
      "ese",     "esa",     "eso",    "como",    "donde",    "cuando",   "quien",   "quienes", "cual",
      "cuales",  "cuanto",  "cuanta", "cuantos", "eran",     "fue",      "fueron",  "ser",     "estar",
      "estoy",   "estamos", "estan",  "soy",     "eres",     "somos",    "tengo",   "tiene",   "tienes",
      "tenemos", "tienen",  "habia",  "hemos",   "desde",    "hasta",    "entre",   "tambien", "cada",
      "otro",    "otra",    "otros",  "todo",    "toda",     "todos",    "todas",   "algo",    "nada",
      "nunca",   "siempre", "aqui",   "alli",    "uno",      "hace",     "hacer",   "sobre"};
  return words;
}
const WordSet& spanish_also() {
  static const WordSet words = {"a",  "no",  "son", "sin", "once", "me", "he", "has", "y", "e",
                                "si", "era", "hay", "ha",  "han",  "te", "os", "ni",  "o", "u"};
  return words;
}

const WordSet& french_telling() {
  static const WordSet words = {
      "ou",      "le",       "la",     "les",    "des",   "du",      "un",      "une",    "est",
      "et",      "que",      "qui",    "dans",   "je",    "tu",      "il",      "elle",   "nous",
      "vous",    "ils",      "elles",  "mon",    "mes",   "ta",      "tes",     "ses",    "notre",
      "nos",     "votre",    "vos",    "leur",   "leurs", "ce",      "cet",     "cette",  "ces",
      "au",      "aux",      "avec",   "sans",   "sous",  "chez",    "mais",    "donc",   "quand",
      "comment", "pourquoi", "quel",   "quelle", "quels", "quelles", "combien", "etait",  "etaient",
      "ete",     "etre",     "suis",   "sommes", "etes",  "sont",    "avons",   "avez",   "ont",
      "avait",   "avaient",  "lui",    "moi",    "toi",   "eux",     "de",      "tres",   "tout",
      "toute",   "tous",     "toutes", "aussi",  "meme",  "encore",  "rien",    "jamais", "toujours",
      "ici",     "depuis",   "entre",  "cela",   "ca",    "qu"};
  return words;
}
const WordSet& french_also() {
  static const WordSet words = {"pour", "on",    "son", "sur", "par", "a",  "if", "as", "me", "pas",
                                "ne",   "ma",    "ton", "es",  "ai",  "se", "sa", "y",  "en", "plus",
                                "fait", "faire", "j",   "l",   "d",   "c",  "n",  "s",  "m",  "t"};
  return words;
}

WordSet joined(const WordSet& one, const WordSet& other) {
  WordSet all = one;
  all.insert(other.begin(), other.end());
  return all;
}

}  // namespace

const std::unordered_set<std::string_view>& stop_words(Language language) {
  static const std::array<WordSet, kLanguages> kWords = {
      english_words(), joined(german_telling(), german_also()), joined(spanish_telling(), spanish_also()),
      joined(french_telling(), french_also())};
  return kWords[static_cast<std::size_t>(language)];
}

bool tells_language(std::string_view word, Language language) {
  switch (language) {
    case Language::kEnglish:
      return english_words().contains(word);
    case Language::kGerman:
      return german_telling().contains(word);
    case Language::kSpanish:
      return spanish_telling().contains(word);
    case Language::kFrench:
      return french_telling().contains(word);
  }
  return false;
}

}  // namespace tertulia
