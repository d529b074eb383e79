/** Labels of conversations (`label` and `after` in rules): results add them, and rules about later requests depend on them. */
import type { Bus } from '@omnibus/bus';
import { usesLabels, type Policy } from '@omnibus/policy';
import type { ConversationLabel } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { CallTransformer } from '../../call/transforms.ts';
import type { Compiled, SessionFeature } from '../../feature.ts';
import { conversationOf } from './conversation.ts';
import { Conversations } from './conversations.ts';
import { flowGate } from './gate.ts';
import { labelling } from './labelling.ts';

/** What the rules say of labels. */
interface LabelRules {
  /** Labels on which some rule depends; others need not be remembered. */
  readonly asked: ReadonlySet<string>;
  readonly isOn: boolean;
}

const maxItemLength = 200;

export function flow(
  parts: { readonly bus: Bus; readonly log: Logger },
  { policy }: Compiled,
): {
  /** Before all features that decide about a call or change it, since it is planned again with the labels. */
  readonly reads: SessionFeature;
  /** After guardrails, which label too. */
  readonly adds: SessionFeature;
} {
  const conversations = new Conversations(parts);
  let rules = rulesOf(policy);
  const reads: SessionFeature = {
    name: 'flow',
    get isOn() {
      return rules.asked.size > 0;
    },
    gates: [flowGate(conversations)],
    apply: (_config, compiled) => {
      rules = rulesOf(compiled.policy);
    },
    sessionEnded: (key) => conversations.forget(key),
  };
  const adds: SessionFeature = {
    name: 'flow-labels',
    get isOn() {
      return rules.isOn;
    },
    transforms: [transformer(conversations, () => rules.asked)],
  };
  return { reads, adds };
}

function rulesOf(policy: Policy | undefined): LabelRules {
  const all = policy?.rules ?? [];
  return {
    asked: new Set(all.flatMap(({ after }) => after ?? [])),
    isOn: all.some((rule) => usesLabels(rule)),
  };
}

function transformer(conversations: Conversations, asked: () => ReadonlySet<string>): CallTransformer {
  return {
    of({ method, screen }, { server, tool, task }, client) {
      if (screen === undefined) return undefined;
      const item = (tool ?? task?.tool ?? screen.item ?? method).slice(0, maxItemLength);
      const labelBy = (rule: string, label: string): ConversationLabel => ({
        label,
        server,
        item,
        rule,
        at: Date.now(),
      });
      const labels = screen.labels.map(({ rule, label }) => labelBy(rule, label));
      if (labels.length === 0 && !screen.looksAt('results')) return undefined;
      const of = conversationOf(client);
      return labelling({
        labels,
        guarded: (names) =>
          names.flatMap(({ guardrail, label }) => (asked().has(label) ? [labelBy(guardrail, label)] : [])),
        put: (missing) => conversations.add(of, missing),
      });
    },
  };
}
