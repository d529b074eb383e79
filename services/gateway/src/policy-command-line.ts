/** The commands that look at rules before they are used. */
import type { Command } from 'commander';
import type { ExplainOptions, PolicyOptions } from './commands/policy.ts';

export function addPolicy(program: Command): void {
  const policy = program.command('policy').description('rules about who may do what, before they are used (docs/policy.md)');

  policy.command('test').description('run cases that have to come out as they are written')
    .argument('<file>', 'YAML with cases: { as, call, args, at, from, expect, rule }')
    .option('-c, --config <file>', 'configuration with the rules (default: the one the file names, else omnibus.yaml here)')
    .action(async (file: string, options: PolicyOptions) => {
      const { testPolicy } = await import('./commands/policy.ts');
      await testPolicy(file, options);
    });

  policy.command('explain').description('say whether somebody may use something, and of each rule why')
    .argument('<who>', 'as in a rule: group:eng, key:ci, "user:ISSUER|SUBJECT"; nobody for somebody who need not be known')
    .argument('<what>', 'server/tool, prompt:server/name or resource:server/uri')
    .option('-c, --config <file>', 'configuration with the rules (default: omnibus.yaml here)')
    .option('--args <json>', 'the arguments of the call')
    .option('--at <time>', 'when, such as 2026-11-23T08:00:00Z (default: now)')
    .option('--from <address>', 'the address of the client')
    .option('--hint <name...>', 'what the tool says of itself, such as readOnlyHint')
    .action(async (who: string, what: string, options: ExplainOptions) => {
      const { explainPolicy } = await import('./commands/policy.ts');
      await explainPolicy(who, what, options);
    });

  policy.command('diff').description('say who gains and who loses what by a change of the rules')
    .argument('<old>', 'configuration as it is')
    .argument('<new>', 'configuration as it would be')
    .option('--names <file>', 'tools and others that there are, "server/tool" a line, besides those that rules name')
    .action(async (before: string, after: string, options: { readonly names?: string }) => {
      const { diffPolicies } = await import('./commands/policy.ts');
      await diffPolicies(before, after, options);
    });
}
