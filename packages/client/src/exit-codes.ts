/** Exit statuses of commands, for scripts. */
export const exits = {
  done: { code: 0, meaning: 'done' },
  other: { code: 1, meaning: 'failed for another reason, which the message names' },
  toolError: { code: 2, meaning: 'the tool answered that it failed (`isError`)' },
  unreachable: { code: 3, meaning: 'the gateway or the server cannot be reached' },
  forbidden: { code: 4, meaning: 'credentials are missing or wrong, or the caller may not do this' },
  unknown: {
    code: 5,
    meaning:
      'not found: the tool, prompt, resource, server, session, call, key, file or client does not exist; or a search has no match',
  },
  timeout: { code: 6, meaning: 'a time limit has passed' },
  incomplete: { code: 7, meaning: 'records are missing (`audit verify`)' },
  changed: { code: 8, meaning: 'records were changed (`audit verify`)' },
  usage: { code: 64, meaning: 'wrong usage of the command' },
  busy: {
    code: 75,
    meaning:
      'the server or gateway is busy, or it is unknown whether the request was executed; `retry` in the output of `--json` says which',
  },
  unanswered: {
    code: 77,
    meaning: 'an answer is required, and there is no terminal for the question, or the option `--no-input` forbids it',
  },
  config: { code: 78, meaning: 'the configuration is wrong' },
  interrupted: { code: 130, meaning: 'interrupted; a running call was cancelled at the server' },
} as const;

export type Exit = keyof typeof exits;
