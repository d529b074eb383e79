/** The commands that test access rules before they are used. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addPolicy(program: Command): void {
  const policy = program
    .command('policy')
    .description('test access rules before they are used (docs/how-to/policy.md)');

  policy
    .command('test')
    .description('decide test cases by the rules, and compare with the expected outcomes')
    .argument('<file>', 'YAML with cases: { as, call, args, at, from, expect, rule }')
    .option(
      '-c, --config <file>',
      'configuration with the rules (default: the one that the file names, else omnibus.yaml in this folder)',
    )
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/policy.ts')).testPolicy));

  policy
    .command('explain')
    .description('say whether a caller may use something, and what each rule says')
    .argument(
      '<who>',
      'as in a rule: group:eng, key:ci, "user:ISSUER|SUBJECT"; several at once as JSON: {"tenant": "acme", "group": "eng"}; "nobody" for an anonymous caller',
    )
    .argument('<what>', 'server/tool, prompt:server/name or resource:server/uri')
    .option('-c, --config <file>', 'configuration with the rules (default: omnibus.yaml in this folder)')
    .option('--args <json>', 'the arguments of the call')
    .option('--at <time>', 'when, such as 2026-11-23T08:00:00Z (default: now)')
    .option('--from <address>', 'the address of the client')
    .option('--hint <name...>', 'a hint of the tool, such as readOnlyHint')
    .option('--after <label...>', 'a label that the conversation carries, such as untrusted')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/policy.ts')).explainPolicy));

  addReplay(policy);

  policy
    .command('diff')
    .description('say which callers gain or lose access by a change of the rules')
    .argument('<old>', 'the present configuration')
    .argument('<new>', 'the new configuration')
    .option(
      '--names <file>',
      'file with one "server/tool" on each line, to compare in addition to the tools that rules name',
    )
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/policy.ts')).diffPolicies));
}

function addReplay(policy: Command): void {
  policy
    .command('replay')
    .description('say which recorded calls the rules would have stopped, by tool and user, such as with --flow guarded')
    .argument('[place...]', 'files and folders of audit records (default: those of the configuration)')
    .option('-c, --config <file>', 'configuration with the rules (default: omnibus.yaml in this folder)')
    .option('--flow <mode>', 'guarded or rules: in place of `flow` in the configuration and its profiles')
    .option(
      '--hints <file>',
      'file with the annotations of tools of believed servers: "server/tool: { readOnlyHint: true }" on each line, or the answer of /api/v1/catalogue',
    )
    .option('--since <when>', 'only records since then: 15m, 2h or 7d ago, or a date')
    .option('--until <when>', 'only records before then, written like --since')
    .option(
      '--bus [role]',
      'read the records in NATS instead of files; as the role of the NATS user in the configuration',
    )
    .option('-n, --limit <count>', 'at most so many rows, those with the most calls; up to 10000', '50')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/policy-replay.ts')).replayPolicy));
}
