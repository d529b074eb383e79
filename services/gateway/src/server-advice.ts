/** What to do about a server that cannot be connected to. @param command of its configuration. */
export function adviceFor(problem: string, command: string | undefined): string {
  if (/no such program/.test(problem)) return `Is ${JSON.stringify(command)} installed, and on the PATH of the gateway?`;
  if (/\b40[13]\b/.test(problem)) return 'The server wants credentials, or does not accept the present ones: see `headers` and `credentials` of this server.';
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(problem)) return 'Is the server running, and is its `url` right as seen from here?';
  if (/did not|time/i.test(problem)) return 'The server took too long: try it by hand, or raise `connectTimeout` of this server.';
  return command === undefined ? 'Try to reach it from this machine: curl -sv URL.' : 'Run its command by hand, and look at what it prints on stderr.';
}
