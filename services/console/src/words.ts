/** Numbers, times and texts as people read them. */

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
 * What makes a text look like another, or says something that nobody sees: control characters but `\n` and `\t`, and characters of format, such as
 * those that turn the direction of what follows (UTS 39) and tags. What joins letters and emoji stays.
 */
const deceptive = /(?![\n\t\u00AD\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text of somebody else, with what deceives written as `⟨U+202E⟩`. */
export function plain(text: string): string {
  return text.replace(/\r\n/g, '\n').replaceAll(deceptive, (character) => `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''}⟩`);
}

/** A value as text: texts as they are, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
