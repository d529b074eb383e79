/** Parts of texts by bytes of UTF-8 and by lines. Half a surrogate pair, which JSON can hold, counts as three bytes and stays as it is. */

/** Bytes of a character, by its code point. */
function bytesOf(point: number): number {
  return point < 0x80 ? 1 : point < 0x8_00 ? 2 : point < 0x1_00_00 ? 3 : 4;
}

export interface Slice {
  readonly text: string;
  /** Its first byte, and the byte after its last. */
  readonly from: number;
  readonly to: number;
}

/** The characters that begin in a range of bytes; ranges that follow each other give the whole text, each character once. @param to exclusive. */
export function sliceBytes(text: string, from: number, to: number): Slice {
  let at = 0;
  let index = 0;
  const skip = (until: number): void => {
    while (index < text.length && at < until) {
      const point = text.codePointAt(index) as number;
      at += bytesOf(point);
      index += point > 0xff_ff ? 2 : 1;
    }
  };
  skip(from);
  const [start, first] = [index, at];
  skip(to);
  return { text: text.slice(start, index), from: first, to: at };
}

/** The longest beginning that takes at most so many characters in JSON; ends at a line end where there is one in its second half. */
export function beginning(text: string, room: number): string {
  const fits = fitting(text.slice(0, Math.max(0, room)), room, (part, length) => part.slice(0, length));
  if (fits.length === text.length) return fits;
  const line = fits.lastIndexOf('\n') + 1;
  return line > fits.length / 2 ? fits.slice(0, line) : withoutHalf(fits);
}

/** The longest end that takes at most so many characters in JSON; begins at a line where there is one in its first half. */
export function ending(text: string, room: number): string {
  const last = room <= 0 ? '' : text.slice(-room);
  const fits = fitting(last, room, (part, length) => (length === 0 ? '' : part.slice(-length)));
  if (fits.length === text.length) return fits;
  const line = fits.indexOf('\n') + 1;
  if (line > 0 && line < fits.length / 2) return fits.slice(line);
  return /^[\uDC00-\uDFFF]/.test(fits) ? fits.slice(1) : fits;
}

function fitting(given: string, room: number, cut: (text: string, length: number) => string): string {
  let text = given;
  for (;;) {
    const length = JSON.stringify(text).length - 2;
    if (length <= room || text === '') return text;
    text = cut(text, Math.min(text.length - 1, Math.floor((text.length * room) / length)));
  }
}

function withoutHalf(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

/** Lines of a text; the end of the last one needs no line end. */
export function lineCount(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return text === '' || text.endsWith('\n') ? count : count + 1;
}

/** Lines with their line ends. @param first from 1. @param last inclusive. */
export function sliceLines(text: string, first: number, last: number): string {
  let start = 0;
  for (let line = 1; line < first; line += 1) {
    const end = text.indexOf('\n', start);
    if (end === -1) return '';
    start = end + 1;
  }
  let end = start;
  for (let line = first; line <= last && end < text.length; line += 1) {
    const found = text.indexOf('\n', end);
    end = found === -1 ? text.length : found + 1;
  }
  return text.slice(start, end);
}

/** A number for people, such as 1,048,576. */
export function counted(count: number): string {
  return count.toLocaleString('en-US');
}
