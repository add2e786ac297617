#include "offline/speech.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <span>
#include <vector>

#include "tertulia/text/word_pieces.h"

#include "offline/words.h"

namespace tertulia::offline {
namespace {

// Words are folded: in lower case and without accents, so that "Könntest" and "¿Qué" are found as well.
using Words = std::vector<std::string>;

bool is_one_of(std::string_view word, std::span<const std::string_view> all) {
  return std::ranges::find(all, word) != all.end();
}

// A question without its mark begins with one of these. Those that begin statements as often ("when I was a
// child", "cuando", "quand", "como") are not among them.
constexpr std::string_view kAskingWords[] = {
    // English
    "what", "who", "whom", "whose", "where", "why", "how", "which", "is", "are", "am", "was", "were", "do",
    "does", "did", "can", "could", "would", "should", "shall",
    // German
    "wer", "wen", "wem", "wessen", "wo", "woher", "wohin", "wann", "warum", "wieso", "weshalb", "wie",
    "welche", "welcher", "welches", "ist", "sind", "kann", "kannst", "konntest", "hast", "bist", "weißt",
    "weisst",
    // Spanish
    "que", "quien", "quienes", "donde", "cual", "cuales", "cuanto", "cuantos", "cuantas", "puedes", "podrias",
    "sabes", "tienes",
    // French
    "quoi", "qui", "pourquoi", "comment", "quel", "quelle", "quels", "quelles", "combien", "peux", "pouvez",
    "sais", "savez"};

constexpr std::string_view kTellingToDo[] = {
    // English
    "tell", "give", "write", "rewrite", "show", "explain", "translate", "make", "list", "find", "describe",
    "create", "draw", "suggest", "recommend", "compare", "define", "calculate", "compute", "generate",
    "compose", "help", "search", "look", "open", "read", "run", "fetch", "send", "summarise", "summarize",
    "sing", "play", "name", "imagine", "pretend", "convert", "check", "fix", "add", "remove", "delete", "set",
    "remind", "order", "ask", "answer", "continue", "go", "stop", "repeat", "try", "guess", "choose", "pick",
    "improve", "correct", "solve", "prove", "invent", "teach", "outline", "analyse", "analyze", "let", "say",
    "talk", "spell",
    // German
    "sag", "sage", "erzahl", "erzahle", "schreib", "schreibe", "gib", "zeig", "zeige", "erklar", "erklare",
    "ubersetze", "mach", "mache", "nenne", "nenn", "hilf", "such", "suche", "finde", "lies", "rechne",
    // Spanish
    "dime", "cuentame", "escribe", "explica", "explicame", "muestrame", "dame", "traduce", "haz", "ayudame",
    "busca", "calcula", "lee",
    // French
    "dis", "raconte", "ecris", "explique", "montre", "donne", "traduis", "fais", "aide", "cherche", "calcule",
    "lis"};

constexpr std::string_view kWanting[] = {
    "please",         "can you",         "could you",   "would you",   "will you",
    "tell me",        "want you to",     "need you to", "i wonder",    "do you know",
    "i want to know", "i need a",        "i need some", "i d like a",  "bitte",
    "kannst du",      "konnen sie",      "konntest du", "sag mir",     "por favor",
    "s il te plait",  "s il vous plait", "peux tu",     "pouvez vous", "dis moi"};

constexpr std::string_view kAssents[] = {"ok",   "okay", "yes",   "no",      "sure", "fine",  "great", "good",
                                         "cool", "nice", "right", "alright", "yep",  "nope",  "true",  "ja",
                                         "nein", "gut",  "klar",  "si",      "vale", "claro", "oui",   "non"};

struct Language {
  // Words that are common in it and rare in the others.
  std::initializer_list<std::string_view> signs;
  std::string_view noted;
  std::string_view that_is_all;
};
// The first is spoken where nothing tells.
constexpr Language kLanguages[] = {
    {{"the", "and", "my", "i", "is", "was", "of", "to", "in", "we", "have", "it"},
     "Noted:",
     "I keep what you tell me and quote it when you ask for it. Understanding it is beyond me: I am "
     "Tertulia's "
     "offline model."},
    {{"ich",  "und", "der",  "die", "das", "ist", "mein", "meine", "nicht", "ein",
      "eine", "wir", "habe", "bin", "den", "mit", "zu",   "nach",  "heißt", "er"},
     "Notiert:",
     "Ich behalte, was du mir sagst, und zitiere es, wenn du danach fragst. Verstehen kann ich es nicht: Ich "
     "bin das Offline-Modell von Tertulia."},
    {{"el",   "los",  "las",   "mi",  "mis",   "yo",   "fui", "con", "una", "y",     "muy",
      "ayer", "esta", "estoy", "soy", "tengo", "vivo", "por", "me",  "al",  "semana"},
     "Anotado:",
     "Guardo lo que me cuentas y lo cito cuando preguntas por ello. No puedo entenderlo: soy el modelo sin "
     "conexión de Tertulia."},
    {{"je", "et", "le", "les", "mon", "ma", "mes", "suis", "une", "est", "nous", "avec", "hier", "du", "des",
      "dans", "chien", "ai"},
     "C'est noté :",
     "Je garde ce que vous me dites et le cite quand vous le demandez. Je ne peux pas le comprendre : je "
     "suis le modèle hors ligne de Tertulia."}};

// Without the marks between words, which are words to folded_words(): those of ASCII and Latin-1, and those
// that begin with the byte E2, as dashes and quotes do.
Words folded(std::string_view text) {
  Words words;
  for (std::string& word : folded_words(text)) {
    const auto sign = static_cast<unsigned char>(word.front());
    if (std::isalnum(sign) != 0 || (sign >= 0xC3U && sign != 0xE2U)) words.push_back(std::move(word));
  }
  return words;
}

bool asks(const Words& words, std::string_view text) {
  if (text.find('?') != std::string_view::npos || text.find("？") != std::string_view::npos) return true;
  if (!is_one_of(words.front(), kAskingWords)) return false;
  // "What I love is cheese" tells.
  constexpr std::string_view kTellers[] = {"i", "we"};
  return !(words.size() > 3 && words.front() == "what" && is_one_of(words[1], kTellers));
}

bool wants(const Words& words) {
  return is_one_of(words.front(), kTellingToDo) ||
         std::ranges::any_of(kWanting, [&](std::string_view phrase) { return has_phrase(words, phrase); });
}

const Language& language_of(std::string_view text) {
  const Words words = folded(text);
  const auto signs_in = [&](const Language& language) {
    return std::ranges::count_if(words, [&](const std::string& word) {
      return std::ranges::find(language.signs, word) != language.signs.end();
    });
  };
  return *std::ranges::max_element(kLanguages, {}, signs_in);
}

}  // namespace

Speech speech_of(std::string_view text) {
  Speech speech = Speech::kOther;
  for (const std::string& sentence : sentences_of(text)) {
    const Words words = folded(sentence);
    if (words.empty()) continue;
    if (asks(words, sentence)) return Speech::kQuestion;
    if (wants(words)) return Speech::kRequest;
    if (words.size() <= 2 &&
        std::ranges::all_of(words, [](const auto& w) { return is_one_of(w, kAssents); })) {
      if (speech == Speech::kOther) speech = Speech::kAssent;
    } else if (words.size() >= 2) {
      speech = Speech::kStatement;
    }
  }
  return speech;
}

std::string acknowledge(std::string_view statement, bool first) {
  const Language& language = language_of(statement);
  std::string text = std::string(language.noted) + " \"" + shortened(statement, 160) + "\"";
  if (first) text += " " + std::string(language.that_is_all);
  return text;
}

bool is_acknowledgement(std::string_view answer) {
  return std::ranges::any_of(kLanguages,
                             [&](const Language& language) { return answer.starts_with(language.noted); });
}

}  // namespace tertulia::offline
