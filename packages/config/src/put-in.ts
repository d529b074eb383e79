/** Keeps what references stand for out of messages: the value of a reference may be a secret of any form. */
import { isMap, valueAt } from './values.ts';

/** Characters in a row by which a message counts as one that repeats a value. */
const repeatedLength = 4;
/** The texts of a message that may come from a value: its advice, and what stands in quotes or braces. */
const given = /: write .*$|"(?:[^"\\]|\\.)*"|\{[^{}]*\}/gs;
/** Words that end in front of a value. */
const leading = /(?:[:;,(]|\b(?:and not|for example|such as|got|or))*\s*$/;

/**
 * A message without the values of references.
 * @param value the value that the message is about, with references replaced.
 * @param written the same as the file has it.
 * @returns the message in the words of the file. If it has a part of a value, or a value in another form, it ends in front of that.
 */
export function withoutValues(message: string, value: unknown, written: unknown): string {
  const told = inWords(message, value, written);
  const found = [...told.matchAll(given)].find(([text]) => isRepeated(text, value, written));
  let words = found === undefined ? told : told.slice(0, found.index);
  if (found !== undefined) for (let before = ''; before !== words; words = words.replace(leading, '')) before = words;
  const isEmpty = found !== undefined && /^(expected)?$/.test(words);
  return isEmpty || repeatsWhole(words, value, written) ? 'expected another value' : words;
}

/** A message in which each value that stands there as a word of its own is as the file has it. */
function inWords(message: string, value: unknown, written: unknown): string {
  if (typeof value === 'string')
    return typeof written !== 'string' ||
      value === written ||
      value.length < repeatedLength ||
      value.length > message.length
      ? message
      : message.replaceAll(
          new RegExp(`(?<=^|[\\s"])${value.replaceAll(/[^\w\s]/g, String.raw`\$&`)}(?=[\\s",;.]|$)`, 'g'),
          () => written,
        );
  if (typeof value !== 'object' || value === null) return message;
  return Object.entries(value).reduce((left, [key, each]) => inWords(left, each, valueAt(written, [key])), message);
}

/** Whether a text of a message has a part of such a value; of a list or map, a whole text. */
function isRepeated(text: string, value: unknown, written: unknown): boolean {
  if (typeof value !== 'string') return repeatsWhole(text, value, written);
  if (typeof written !== 'string' || value === written) return false;
  const [there, known] = [text.toLowerCase(), written.toLowerCase()];
  const quoted = /^"(.{2,})"$/s.exec(there)?.[1];
  if (quoted !== undefined && value.toLowerCase().includes(quoted) && !known.includes(quoted)) return true;
  const parts = Array.from({ length: Math.max(1, value.length - repeatedLength + 1) }, (_none, at) =>
    value.slice(at, at + repeatedLength).toLowerCase(),
  );
  return parts.some((part) => part !== '' && there.includes(part) && !known.includes(part));
}

function repeatsWhole(text: string, value: unknown, written: unknown): boolean {
  if (typeof value === 'string')
    return value !== written && typeof written === 'string' && value.length >= repeatedLength && text.includes(value);
  if (Array.isArray(value))
    return Array.isArray(written) && value.some((each, index) => repeatsWhole(text, each, written[index]));
  return (
    isMap(value) &&
    isMap(written) &&
    Object.entries(value).some(([key, each]) => repeatsWhole(text, each, written[key]))
  );
}
