import { version } from '@omnibus/protocol';
import { Command } from 'commander';
import type { StartGateway } from '../gateway.ts';
import { answer } from '../output/outcome.ts';
import { addAdmin } from './administering.ts';
import { addAgents } from './agents.ts';
import { addSigningKeys } from './signing-keys.ts';
import { addApprovals, addGrants } from './approvals.ts';
import { addAudit } from './audit.ts';
import { addConnections } from './connections.ts';
import { addDefinitions } from './definitions.ts';
import { addNats, addPod } from './deploying.ts';
import { addClients, addFiles } from './files.ts';
import { arrange } from './groups.ts';
import { addKeys } from './keys.ts';
import { addLabels } from './labels.ts';
import { addLogin } from './login.ts';
import { addPolicy } from './policy.ts';
import { addRunning } from './running.ts';
import { addSearch } from './registry.ts';
import { addSearchModel } from './search-model.ts';
import { addChecking, addServing } from './serving.ts';
import { addUse } from './use.ts';
import { addUsers } from './users.ts';
import { addVault } from './vault.ts';
import { addWatching } from './watching.ts';

/** The command line. Commands are loaded when they run, so that help and version come at once. @param start starts a gateway in this process. */
export function createProgram(start: StartGateway): Command {
  const program = new Command('omnibus')
    .description('One MCP endpoint for many MCP servers.')
    .version(version)
    .showHelpAfterError('(omnibus --help lists the commands)')
    .showSuggestionAfterError()
    .configureOutput({ writeOut: answer })
    .exitOverride();
  addServing(program, start);
  addChecking(program);
  addFiles(program, start);
  addClients(program);
  addUse(program, start);
  addRunning(program);
  addWatching(program, start);
  addAdmin(program);
  addLogin(program);
  addConnections(program, start);
  addKeys(program);
  addSearch(program);
  addSearchModel(program);
  addUsers(program);
  addAgents(program);
  addSigningKeys(program);
  addPolicy(program);
  addApprovals(program);
  addGrants(program);
  addLabels(program);
  addDefinitions(program);
  addAudit(program);
  addVault(program);
  addNats(program);
  addPod(program);
  arrange(program);
  for (const command of program.commands) pointToOwnHelp(command, 'omnibus');
  return program;
}

/** A mistake in the options of a command is answered with the help of that command. */
function pointToOwnHelp(command: Command, above: string): void {
  const words = `${above} ${command.name()}`;
  command.showHelpAfterError(`(${words} --help lists its ${command.commands.length > 0 ? 'commands' : 'options'})`);
  for (const each of command.commands) pointToOwnHelp(each, words);
}
