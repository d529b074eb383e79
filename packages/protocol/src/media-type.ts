/** @param header a `Content-Type`. @returns the media type in lower case and without parameters; empty if there is none. */
export function mediaTypeOf(header: string | readonly string[] | undefined): string {
  const [type = ''] = String(header ?? '').split(';', 1);
  return type.trim().toLowerCase();
}
