/** The address of the gateway that a command is about: the user's argument, that of the environment, or the one of this machine. */
export function gatewayUrl(given: string | undefined): string {
  const { OMNIBUS_URL: named = '' } = process.env;
  return given ?? (named === '' ? 'http://127.0.0.1:7300/mcp' : named);
}
