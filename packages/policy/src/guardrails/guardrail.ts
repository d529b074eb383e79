/** One guardrail, compiled: its own check or its external service, and the action on a message. */
import { selectorProblem } from '@omnibus/protocol';
import type { RuleProblem } from '../settings.ts';
import { Redaction, compileRedaction } from '../redaction/redaction.ts';
import { hiddenReplace } from './hidden.ts';
import { hasMarker } from './markers.ts';
import {
  stages,
  type GuardrailAction,
  type GuardrailSettings,
  type SizeSettings,
  type Stage,
  type WebhookSettings,
} from './settings.ts';
import { urlReplace } from './urls.ts';

/** The external service: a webhook, or a tool of a server. */
type Asked =
  | { readonly kind: 'webhook'; readonly webhook: WebhookSettings }
  | { readonly kind: 'tool'; readonly server: string; readonly tool: string };

export interface OutsideCheck {
  readonly kind: 'outside';
  readonly asked: Asked;
  readonly timeoutMs: number;
  readonly concurrency: number;
  /** Whether a message passes when the external check fails. */
  readonly isOpen: boolean;
  readonly config: Readonly<Record<string, unknown>> | undefined;
}

type Check =
  | { readonly kind: 'size'; readonly most: SizeSettings }
  /** A text counts as found when the redaction changes it. */
  | { readonly kind: 'text'; readonly redaction: Redaction }
  | OutsideCheck;

export interface Guardrail {
  readonly id: string;
  readonly stages: ReadonlySet<Stage>;
  readonly action: GuardrailAction;
  readonly label: string;
  /** Whether findings are only logged and counted, without an action. */
  readonly isRecorded: boolean;
  readonly because: string | undefined;
  readonly check: Check;
}

const kinds = ['size', 'patterns', 'hidden', 'urls', 'markers', 'webhook', 'tool'] as const;
type Kind = (typeof kinds)[number];

const usualAction: Readonly<Record<Kind, GuardrailAction>> = {
  size: 'deny',
  patterns: 'change',
  hidden: 'change',
  urls: 'change',
  markers: 'label',
  webhook: 'change',
  tool: 'change',
};
const usualStages: Readonly<Record<Kind, readonly Stage[]>> = {
  size: ['requests', 'results'],
  patterns: ['requests', 'results', 'questions'],
  hidden: ['results', 'questions', 'lists'],
  urls: ['results', 'questions'],
  markers: ['results', 'questions', 'lists'],
  webhook: ['requests', 'results', 'questions'],
  tool: ['requests', 'results', 'questions'],
};
const defaultTimeoutMs = 2_000;
const defaultConcurrency = 32;

/** @returns the compiled guardrail, or its problems; those of its callers and targets are found by the compiler of rules. */
export function compileGuardrail(
  settings: GuardrailSettings,
  index: number,
): Guardrail | { readonly problems: readonly RuleProblem[] } {
  const problems: RuleProblem[] = [];
  const problem: Complain = (message, ...path) => void problems.push({ path: [index, ...path], message });
  const named = kinds.filter((kind) => settings[kind] !== undefined);
  const [kind = 'size'] = named;
  if (named.length !== 1)
    problem(`expected one of ${kinds.map((each) => `\`${each}\``).join(', ')}: what is looked for, or who is asked`);
  const isNarrow = narrowing(settings);
  const given =
    settings.on === undefined
      ? usualStages[kind].filter((stage) => stage !== 'lists' || !isNarrow)
      : [settings.on].flat();
  complainOfStages(given, kind, isNarrow, problem);
  complainOfOptions(settings, kind, problem);
  let check: Check | undefined;
  try {
    check = checkOf(kind, settings);
  } catch (error) {
    problem((error as Error).message, kind);
  }
  if (problems.length > 0 || check === undefined) return { problems };
  return {
    id: settings.id,
    stages: new Set(given),
    action: settings.action ?? usualAction[kind],
    label: settings.label ?? kind,
    isRecorded: settings.mode === 'record',
    because: settings.because,
    check,
  };
}

/** Notes a problem with the settings. @param path of the option, below the guardrail. */
type Complain = (message: string, ...path: (string | number)[]) => void;

const isOutside = (kind: Kind): boolean => kind === 'webhook' || kind === 'tool';

function complainOfStages(given: readonly Stage[], kind: Kind, isNarrow: boolean, problem: Complain): void {
  for (const stage of given)
    if (!stages.includes(stage)) problem(`expected ${stages.join(', ')}, got ${JSON.stringify(stage)}`, 'on');
  if (given.length === 0) problem('expected something that it looks at', 'on');
  if (given.includes('lists') && isNarrow)
    problem('lists are the same for all callers: a guardrail on `lists` is about everyone, at any time', 'on');
  if (given.includes('lists') && (isOutside(kind) || kind === 'size'))
    problem(`\`${kind}\` does not look at lists`, 'on');
}

function complainOfOptions(settings: GuardrailSettings, kind: Kind, problem: Complain): void {
  const { action = usualAction[kind] } = settings;
  if (kind === 'markers' && action !== 'label')
    problem('what may be an injection is only ever labelled, since texts about injections look alike', 'action');
  if (kind === 'size' && action === 'change')
    problem('nothing can be taken out of what is too large: deny it, or label it', 'action');
  if (isOutside(kind) && settings.action !== undefined)
    problem('whoever is asked says what becomes of the message', 'action');
  if (kind !== 'patterns' && settings.unreadable !== undefined)
    problem('is said of guardrails with `patterns`', 'unreadable');
  for (const option of ['timeout', 'onFailure', 'concurrency', 'config'] as const)
    if (!isOutside(kind) && settings[option] !== undefined)
      problem('is said of guardrails with `webhook` or `tool`', option);
}

/** Whether it is restricted to some callers, times or other conditions. */
function narrowing({ who, except, args, time, network, when, only }: GuardrailSettings): boolean {
  return (
    (who !== undefined && who !== 'everyone') ||
    [except, args, time, network, when, only].some((each) => each !== undefined)
  );
}

function checkOf(kind: Kind, settings: GuardrailSettings): Check {
  const {
    id,
    size = {},
    patterns = [],
    unreadable = 'withhold',
    hidden = 'all',
    urls = { hosts: [] },
    webhook,
    tool = '',
    config,
  } = settings;
  const text = (replace: (given: string) => string): Check => ({
    kind: 'text',
    redaction: new Redaction([{ rule: id, replaces: [replace], paths: [], unreadable: 'withhold', binaries: 'pass' }]),
  });
  const outside = (asked: Asked): Check => ({
    kind: 'outside',
    asked,
    timeoutMs: settings.timeout ?? defaultTimeoutMs,
    concurrency: settings.concurrency ?? defaultConcurrency,
    isOpen: settings.onFailure === 'allow',
    config,
  });
  switch (kind) {
    case 'size':
      if (Object.values(size).every((each) => each === undefined))
        throw new Error('expected `arguments`, `result` or `text`: how many characters they may have');
      return { kind, most: size };
    case 'patterns':
      return {
        kind: 'text',
        redaction: new Redaction([compileRedaction(id, { patterns: [patterns].flat(), paths: [], unreadable })]),
      };
    case 'hidden': {
      const replace = hiddenReplace(hidden);
      return text((given) => replace(given, ''));
    }
    case 'urls': {
      const replace = urlReplace(urls);
      return text((given) => replace(given, ''));
    }
    case 'markers':
      // The text is never changed for the receiver: a difference only marks it as found.
      return text((given) => (hasMarker(given) ? `${given} ` : given));
    case 'webhook':
      return outside({ kind, webhook: webhook as WebhookSettings });
    case 'tool': {
      const at = tool.indexOf('/');
      if (selectorProblem(tool) !== undefined || at < 1 || /[*?[\]{}:]/.test(tool))
        throw new Error('expected "server/tool" with the name that the server itself gives');
      return outside({ kind, server: tool.slice(0, at), tool: tool.slice(at + 1) });
    }
  }
}
