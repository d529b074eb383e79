/**
 * Finds characters that are invisible to people but read by models, or that change what people see. Characters that scripts and emoji need are not
 * reported: joiners between pictographs or letters, variation selectors after a character, the tags of a flag.
 */

/** A flag such as that of England: a black flag, tags, and the tag that ends it (Unicode UTS #51, ED-14a). */
const tagFlags = /\u{1F3F4}[\u{E0020}-\u{E007E}]{1,32}\u{E007F}/gu;
const hidden = [
  [/[\u{E0000}-\u{E007F}]/u, 'tag characters, which spell text that nobody sees'],
  [/[\u202A-\u202E\u2066-\u2069]/u, 'marks that turn the direction of text around'],
  // oxlint-disable-next-line no-control-regex -- the pattern searches for control characters.
  [/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/u, 'control characters'],
] as const;
/** Joiners that join nothing, and selectors without a character before them. */
const odd = [
  [
    /(?<![\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D|\u200D(?![\p{L}\p{M}\p{Extended_Pictographic}])/u,
    'a joiner of zero width that joins nothing',
  ],
  [/(?<![\p{L}\p{M}])\u200C|\u200C(?![\p{L}\p{M}])/u, 'a non-joiner of zero width between nothing'],
  [/[\u200B\u2060\uFEFF\u00AD\u180E]/u, 'characters of zero width'],
  [
    /(?<![\p{Extended_Pictographic}\p{L}\p{N}\p{P}\p{S}])[\uFE00-\uFE0F]|[\u{E0100}-\u{E01EF}]{2}/u,
    'variation selectors that vary nothing',
  ],
  [/[\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}]/u, 'characters of private use'],
] as const;

/** Wording with which descriptions address the model instead of describing the tool. It is an indication, and no proof. */
const spoken = [
  [/<\s*(important|system|secret|instructions?)\s*>/iu, 'a tag such as <IMPORTANT>'],
  [
    /\b(ignore|disregard|forget)\b.{0,40}\b(previous|prior|above|earlier|other)\b.{0,40}\b(instructions?|prompts?|messages?|tools?)\b/iu,
    'words that set other instructions aside',
  ],
  [
    /\b(do not|don't|never)\b.{0,40}\b(tell|mention|inform|reveal|show|notify)\b.{0,40}\b(user|human|person|anyone)\b/iu,
    'words that ask to keep something from the user',
  ],
  [
    /\bbefore (using|calling|you use|you call)\b.{0,60}\b(this|any|other) (tool|function)s?\b.{0,80}\b(read|send|call|open|pass|include)\b/iu,
    'words that ask for an act before the tool is used',
  ],
] as const;

/** Characters of one text that are examined; a longer text is a finding by its size. */
const maxLength = 64 * 1024;

/** Findings in a text, in words, for a person that decides about its approval. */
export function findingsIn(text: string): readonly string[] {
  const looked = text.slice(0, maxLength);
  const plain = looked.replace(tagFlags, '');
  return [
    ...[...hidden, ...odd].filter(([pattern]) => pattern.test(plain)),
    ...spoken.filter(([pattern]) => pattern.test(looked)),
  ].map(([, what]) => what);
}

/** Whether a text contains characters that only hide text. */
export function hidesText(text: string): boolean {
  const plain = text.slice(0, maxLength).replace(tagFlags, '');
  return hidden.some(([pattern]) => pattern.test(plain));
}

/** Replaces invisible characters by their code points, such as `⟨U+202E⟩`. */
export function drawn(text: string): string {
  return text.replace(
    // oxlint-disable-next-line no-control-regex -- the pattern searches for control characters.
    /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uE000-\uF8FF\u{E0000}-\u{E01EF}\u{F0000}-\u{10FFFD}]|\p{Variation_Selector}/gu,
    (character) => `⟨U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}
