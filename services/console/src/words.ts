/** Formats numbers, times and texts for people. */

const whole = new Intl.NumberFormat('en');

export function numberWords(value: number): string {
  return whole.format(value);
}

export function count(value: number, noun: string, many = `${noun}s`): string {
  return `${numberWords(value)} ${value === 1 ? noun : many}`;
}

/** `3 ms`, `1.2 s`, `4 min`. @param ms milliseconds. */
export function duration(ms: number): string {
  if (ms < 1) return '< 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

export function bytes(length: number): string {
  if (length < 1_000) return `${length} B`;
  return length < 1_000_000 ? `${(length / 1_000).toFixed(1)} kB` : `${(length / 1_000_000).toFixed(1)} MB`;
}

/** Time of day with tenths of a second. @param at milliseconds since 1970. */
export function clock(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${Math.floor(date.getMilliseconds() / 100)}`;
}

/**
 * Characters that can make a text look like another or hide a part of it: control characters except `\n` and `\t`, and format characters, such as
 * those that change the direction of text (UTS 39), and tags. Joiners of letters and emoji stay.
 */
const deceptive = /(?![\n\t\u00AD\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text from elsewhere, with deceptive characters written as `⟨U+202E⟩`. */
export function plain(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replaceAll(
      deceptive,
      (character) => `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''}⟩`,
    );
}

/** A value as text: a string as it is, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
