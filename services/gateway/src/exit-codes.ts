/** What commands end with, so that scripts can tell. */
export const exits = {
  done: { code: 0, meaning: 'done' },
  other: { code: 1, meaning: 'something else; the message says what' },
  toolError: { code: 2, meaning: 'the tool answered that it failed (`isError`)' },
  unreachable: { code: 3, meaning: 'the gateway or the server cannot be reached' },
  forbidden: { code: 4, meaning: 'credentials are missing or wrong, or this is not allowed' },
  unknown: { code: 5, meaning: 'there is no such tool, prompt, resource, server or client' },
  timeout: { code: 6, meaning: 'a time limit has passed' },
  usage: { code: 64, meaning: 'the command was used wrongly' },
  busy: { code: 75, meaning: 'busy, or nobody knows whether it was done: with `--json`, `retry` says which' },
  unanswered: { code: 77, meaning: 'something has to be answered, and there is no terminal to answer on, or `--no-input` was given' },
  config: { code: 78, meaning: 'the configuration is wrong' },
  interrupted: { code: 130, meaning: 'interrupted; a call that ran is cancelled at the server' },
} as const;

export type Exit = keyof typeof exits;
