import { CommanderError } from 'commander';
import { createProgram, unknownCommand } from '@omnibus/cli';
import { exits } from '@omnibus/client';

const program = createProgram(async (options) => (await import('./gateway.ts')).startGateway(options));
const args = process.argv.slice(2);
try {
  const unknown = unknownCommand(program, args);
  if (unknown !== undefined) {
    const { nearestOf } = await import('@omnibus/config');
    const meant = nearestOf(
      unknown.word,
      unknown.within.commands.map((each) => each.name()),
    );
    unknown.within.error(
      `error: unknown command '${unknown.word}'${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}`,
    );
  }
  if (Object.keys(process.env).some((name) => /^https?_proxy$/i.test(name)))
    await (await import('./proxied-fetches.ts')).proxyFetches();
  if (args.length === 0) program.outputHelp();
  else await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander throws for help and version too, with exit code 0. It has written the message to stderr.
  process.exitCode = error.exitCode === 0 ? exits.done.code : exits.usage.code;
  if (error.exitCode !== 0 && args.includes('--json'))
    process.stdout.write(
      `${JSON.stringify({ reason: 'usage', problem: error.message.replace(/^error: /, ''), advice: 'omnibus --help lists the commands' }, null, 2)}\n`,
    );
}
