/** The API of one process: its features, the questions to all processes, and the answers made from both. */
import { openApi, type Approvals, type Configuration } from '@omnibus/admin-api';
import type { Bus } from '@omnibus/bus';
import { enabledServers, type Config } from '@omnibus/config';
import type { Policy } from '@omnibus/policy';
import { version } from '@omnibus/protocol';
import type { AdminSite } from '@omnibus/telemetry';
import { AllProcesses } from './all-processes.ts';
import { ApprovalsOfAll, type RawApprovals } from './approval-board.ts';
import { CallHolders } from './call-holders.ts';
import { grantQuestions, type GrantDeskOptions } from './grant-desk.ts';
import { grantHandlers } from './grant-handlers.ts';
import { labelQuestions } from './label-desk.ts';
import { labelHandlers } from './label-handlers.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { AuditDesk } from './audit-desk.ts';
import { auditHandlers } from './audit-handlers.ts';
import { callFeature } from './call-handlers.ts';
import { connectionHandlers } from './connection-handlers.ts';
import { DefinitionsOfAll } from './definition-board.ts';
import { definitionQuestions } from './definition-desk.ts';
import { entryHandlers } from './entry-handlers.ts';
import { agentHandlers, agentsOf } from './agent-handlers.ts';
import { programHandlers, programQuestions } from './program-handlers.ts';
import { signingKeyHandlers, signingKeyQuestions } from './signing-key-handlers.ts';
import { keyUseQuestions, keyUsesOf } from './key-uses.ts';
import { meteringHandlers } from './metering-handlers.ts';
import { operatorHandlers } from './operator-handlers.ts';
import type { ApiOptions } from './options.ts';
import { overviewFeature } from './overview-handlers.ts';
import { PolicyBoard } from './policy-board.ts';
import { ProcessDesk } from './process-desk.ts';
import { historyOf, RateHistory } from './rate-history.ts';
import { serverHandlers } from './server-handlers.ts';
import { configurationFor } from './shown-config.ts';
import { apiSite, type Handlers } from './site.ts';
import { tokenHandlers, tokenQuestions } from './token-handlers.ts';
import { approvalsFor, trustHandlers } from './trust-handlers.ts';
import { vaultQuestions } from './vault-desk.ts';
import { vaultHandlers } from './vault-handlers.ts';
import { tryFeature } from './try-handlers.ts';
import type { Topic, Topics } from './watch.ts';
import { watchFeature } from './watch-handlers.ts';

export interface Api {
  readonly site: AdminSite;
  /** Asks and answers over the bus from now on. */
  start(bus: Bus): Promise<void>;
  stop(): void;
}

export function openAdminApi(options: ApiOptions): Api {
  const { metrics, wheel, onFault } = options;
  const all = new AllProcesses(options);
  const holding = holdingOf(options, all);
  const approvalDesk = new ApprovalDesk({ wheel, ...holding });
  const unread = (error: unknown): void => onFault('rates could not be read', error);
  const rateHistory = new RateHistory(() => metrics.upstream.serverCounts(), wheel, unread);
  const overview = overviewFeature(options, all);
  const calls = callFeature(options, all);
  const watched = watchFeature(options, all, topicsOf(options, all, overview.topics.overview));
  const tries = tryFeature(options);
  const own = ownServerFeature(options, all);
  const desk = new ProcessDesk({
    ...options,
    more: {
      ...vaultQuestions(options.vaults),
      ...approvalDesk.questions,
      ...grantQuestions(holding),
      ...labelQuestions(holding),
      ...definitionQuestions(options.process, options.backend),
      ...rateHistory.questions,
      ...keyUseQuestions(options.authenticator),
      ...own.questions,
      ...new AuditDesk({ ...options, bus: () => all.bus }).questions,
      ...calls.questions,
      ...tokenQuestions(options),
    },
  });
  const handlers: Handlers = {
    ...overview.handlers,
    ...calls.handlers,
    ...watched.handlers,
    ...tries.handlers,
    ...stateHandlers(options, all),
    ...policyHandlers(options, all),
    ...serverHandlers(options, all),
    ...tokenHandlers(options, all),
    ...auditHandlers(options, all),
    ...connectionHandlers(options),
    ...meteringHandlers({ ...options, hasServer: (name) => enabledServers(options.config()).has(name) }),
    ...operatorHandlers({ ...options, keyUses: () => keyUsesOf(all) }),
    ...own.handlers,
    ...entryHandlers(options),
    ...vaultHandlers({ ...options, assembly: () => all.assembly }),
    ...decisionHandlers(options, all),
    openapi: () => Promise.resolve({ ...openApi(version) }),
  };
  return {
    site: apiSite({ ...options, handlers }),
    start: (bus) => all.start(bus, desk.answer),
    stop() {
      watched.stop();
      tries.stop();
      rateHistory.stop();
      options.tapDesk.stop();
      approvalDesk.stop();
      all.stop();
    },
  };
}

/** The operations that decide: about calls, definitions, rights for a time, and labels of conversations. */
function decisionHandlers(
  options: ApiOptions,
  all: AllProcesses,
): ReturnType<typeof trustHandlers> & ReturnType<typeof grantHandlers> & ReturnType<typeof labelHandlers> {
  const approvals = (): ApprovalsOfAll => approvalsOf(options, all);
  const definitions = (): DefinitionsOfAll => definitionsOf(options, all);
  return {
    ...trustHandlers({ ...options, approvals, definitions }),
    ...grantHandlers({ ...options, holders: () => holdersOf(options, all) }),
    ...labelHandlers({ ...options, holders: () => holdersOf(options, all) }),
  };
}

/** What this process has of calls that it holds. */
function holdingOf({ process, sessions, config, sealingKeys, rules }: ApiOptions, all: AllProcesses): GrantDeskOptions {
  const compiled = new WeakMap<Config, Promise<Policy | undefined>>();
  const hasCallers = (): boolean => config().auth !== undefined && config().auth !== 'none';
  return {
    process,
    bus: () => (sessions() === undefined ? undefined : all.bus),
    signedWith: () => (all.bus?.isShared === true && hasCallers() ? sealingKeys : undefined),
    policy: () => {
      const now = config();
      const known = compiled.get(now) ?? rules.compileAccess(now);
      compiled.set(now, known);
      return known;
    },
  };
}

function holdersOf({ config, sealingKeys: keys }: ApiOptions, { assembly, bus }: AllProcesses): CallHolders {
  return new CallHolders({ assembly, config, keys, isShared: bus?.isShared === true });
}

function approvalsOf(options: ApiOptions, all: AllProcesses): ApprovalsOfAll {
  return new ApprovalsOfAll(holdersOf(options, all));
}

function definitionsOf({ config }: ApiOptions, { assembly }: AllProcesses): DefinitionsOfAll {
  return new DefinitionsOfAll(assembly, config);
}

/** The state that readers can follow. */
function topicsOf(options: ApiOptions, all: AllProcesses, overview: Topic): Topics {
  const { access } = options;
  return {
    overview,
    processes: { read: () => all.board.processes() },
    servers: { read: () => all.board.servers() },
    sessions: { read: () => all.board.sessions({}) },
    metrics: { read: () => all.board.metrics() },
    definitions: { read: () => definitionsOf(options, all).list() },
    configuration: {
      read: () => all.board.configuration(),
      shown: (answer: Configuration, request) => configurationFor(answer, access.of(request).roles),
    } satisfies Topic<Configuration>,
    approvals: {
      read: () => approvalsOf(options, all).list({}),
      shown: (answer: RawApprovals, request): Approvals =>
        approvalsFor(access.of(request), answer, approvalsOf(options, all)),
    } satisfies Topic<RawApprovals>,
  };
}

/** The operations that show the state of all processes, or end a session. */
function stateHandlers(
  { access, note }: ApiOptions,
  all: AllProcesses,
): Pick<Handlers, 'processes' | 'sessions' | 'session' | 'end' | 'configuration' | 'metrics' | 'rates'> {
  return {
    processes: () => all.board.processes(),
    sessions: ({ query }) => all.board.sessions(query),
    session: ({ given }) => all.board.session(given),
    end: async ({ request, given }) => {
      const ended = await all.board.end(given);
      note(request, 'sessions.end', { session: given });
      return ended;
    },
    configuration: async ({ request }) => configurationFor(await all.board.configuration(), access.of(request).roles),
    metrics: () => all.board.metrics(),
    rates: ({ query }) => historyOf(all.assembly, query.server),
  };
}

function policyHandlers(options: ApiOptions, all: AllProcesses): Pick<Handlers, 'policy' | 'explain' | 'sees'> {
  const board = new PolicyBoard({ ...options, catalogue: (asked) => all.board.catalogue(asked) });
  return {
    policy: ({ query }) => board.rules(query),
    explain: ({ query }) => board.explain(query),
    sees: ({ query }) => board.sees(query),
  };
}

/** Operations and questions about the gateway's own authorization server: its agents, the programs of its users, and its keys. */
function ownServerFeature(options: ApiOptions, all: AllProcesses) {
  const agents = { ...options, keyUses: () => keyUsesOf(all) };
  return {
    questions: { ...programQuestions(options), ...signingKeyQuestions(options) },
    handlers: {
      ...agentHandlers(agents),
      ...programHandlers(options, all, () => agentsOf(agents)),
      ...signingKeyHandlers(options, all),
    },
  };
}
