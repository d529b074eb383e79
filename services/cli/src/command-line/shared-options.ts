import { InvalidArgumentError, Option, type Command } from 'commander';
import { atThisMachine } from '../commands/admin-port.ts';

/**
 * The admin address of a command: that of the environment, in the form of `omnibus serve`. For a gateway that listens at all addresses it is this machine.
 * @returns 127.0.0.1:7301 where the environment names none, or a port that the gateway chooses.
 */
export function adminAddress({ OMNIBUS_ADMIN: given = '' }: NodeJS.ProcessEnv): string {
  return given === '' || given.endsWith(':0') ? '127.0.0.1:7301' : atThisMachine(given);
}

/** Options that several commands have, each with its flags, its meaning and its default. */
export const shared = {
  json: ['--json', 'print JSON'],
  admin: [
    '-a, --admin <host:port>',
    'the admin address of a process, https://host:port where it speaks TLS; OMNIBUS_ADMIN names another default',
    adminAddress(process.env),
  ],
  signedIn: [
    '--signed-in <url>',
    'send the token that you signed in for at this gateway (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN is sent',
  ],
  tokens: [
    '--tokens <file>',
    'file with the tokens that you signed in for (default: tokens.json in the folder of your settings)',
  ],
  noInput: ['--no-input', 'never ask, even on a terminal'],
  config: ['-c, --config <file>', 'configuration file, YAML or JSON (default: omnibus.yaml in this folder)'],
  endpoint: ['-e, --endpoint <name>', 'a server or profile instead of all servers'],
  header: [
    '-H, --header <line...>',
    'an HTTP header that is sent with every request, "Name: value" (default: OMNIBUS_TOKEN, or the token that you signed in for)',
  ],
  timeout: ['--timeout <time>', 'how long to wait: 30s, 5m or a number of seconds (default: 10m)'],
  quiet: ['-q, --quiet', 'print the answer only'],
  save: ['--save <file>', 'write images, audio and other binary content to this file'],
} as const;

/** Answers `--port` of other programs with the option to write. @param host that the command usually listens on. */
export function portOption(host: string): Option {
  return new Option('-p, --port <number>').hideHelp().argParser((port): never => {
    throw new InvalidArgumentError(
      `There is no such option: write --listen ${host}:${/^\d+$/.test(port) ? port : 'PORT'}`,
    );
  });
}

/** A command that asks the admin port of a running gateway. */
export function asking(command: Command, description: string): Command {
  return command
    .description(description)
    .option(...shared.admin)
    .option(...shared.signedIn)
    .option(...shared.tokens)
    .option(...shared.json);
}
