/** Whether JavaScript knows the pattern of a schema: servers and documents have those of other languages too. */
export function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
