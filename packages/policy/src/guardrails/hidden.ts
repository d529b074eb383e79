/**
 * Finds characters that are invisible to people but read by models. Each expression does a bounded amount of work for each character. Characters that
 * languages and emoji need stay: joiners between emoji and in scripts that join letters, the variation selector of an emoji, the tags of a flag.
 */
import type { Replace } from '../redaction/patterns.ts';
import { hiddenKinds, type HiddenKind } from './settings.ts';

/** Scripts in which a joiner between two letters changes the text's meaning or form. */
const joining = String.raw`[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}]`;
/** Characters that may precede a joiner in a sequence of emoji (Unicode TR 51, `emoji_zwj_sequence`). */
const beforeJoiner = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}]`;

const expressions: Readonly<Record<HiddenKind, RegExp>> = {
  // A flag of a region is a black flag, at most seven tags, and the cancel tag; any other tags spell invisible text.
  tags: /(\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{1,7}\u{E007F})|[\u{E0000}-\u{E007F}]/gu,
  zeroWidth: new RegExp(
    String.raw`((?<=${joining})[\u200C\u200D](?=${joining})|(?<=${beforeJoiner})\u200D(?=\p{Extended_Pictographic}))|[\u00AD\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200D\u2060-\u2065\u206A-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFF8\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0080}-\u{E00FF}\u{E01F0}-\u{E0FFF}]`,
    'gu',
  ),
  bidi: /()[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu,
  selectors: /((?<=[\p{Emoji}\u{1F3F4}])[\uFE0E\uFE0F])|[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/gu,
  // eslint-disable-next-line no-control-regex -- the pattern searches for control characters; tabs and line ends are text
  control: /()[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\uFFF9-\uFFFB]/gu,
};

/** @returns a function that removes such characters, and returns the same text when there are none. */
export function hiddenReplace(kinds: 'all' | HiddenKind | readonly HiddenKind[]): Replace {
  const wanted: readonly HiddenKind[] = kinds === 'all' ? hiddenKinds : [kinds].flat();
  return (text) =>
    isPlain(text)
      ? text
      : wanted.reduce(
          (said, kind) => said.replace(expressions[kind], (_found, kept: string | undefined) => kept ?? ''),
          text,
        );
}

/** Whether a text has only printable ASCII and line ends, as most have, and so need not be searched five times. */
function isPlain(text: string): boolean {
  return /^[\t\n\r\u0020-\u007E]*$/.test(text);
}
