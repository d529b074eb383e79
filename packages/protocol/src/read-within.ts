/**
 * Reads a body to its end, within a bound.
 * @param body of an answer; null or undefined if it has none.
 * @param tooLarge makes the error for a body of more bytes. The rest of such a body is not read.
 */
export async function readWithin(
  body: AsyncIterable<unknown> | null | undefined,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
