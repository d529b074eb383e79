/** Labels of conversations (`label` and `after` in rules): results add them, and rules about later requests depend on them. */
import { usesLabels, type Policy } from '@omnibus/policy';
import type { ConversationLabel, ServerName } from '@omnibus/protocol';
import type { AccessSource } from '../../call/access.ts';
import type { CallTransformer } from '../../call/transforms.ts';
import type { Compiled, SessionFeature } from '../../feature.ts';
import type { Speaker } from './conversation.ts';
import { Conversations, type ConversationParts } from './conversations.ts';
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
  parts: ConversationParts,
  { policy }: Compiled,
  access: AccessSource | undefined,
): {
  /** Before all features that decide about a call or change it, since it is planned again with the labels. */
  readonly reads: SessionFeature;
  /** After guardrails, which label too. */
  readonly adds: SessionFeature;
  /** Labels the conversation that reads a stored result. @returns false if that could not be recorded. */
  readonly stored: (client: Speaker, server: ServerName, tool: string) => Promise<boolean>;
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
  return {
    reads,
    adds,
    stored: async (client, server, tool) => {
      const wanted = { kind: 'tool', server, name: tool, method: 'tools/call', isBegun: true } as const;
      const labels = rules.isOn ? (access?.of(client.asking)?.screen(wanted)?.labels ?? []) : [];
      return (
        labels.length === 0 ||
        conversations.add(
          client,
          labels.map((each) => ({ ...each, server, item: tool.slice(0, maxItemLength), at: Date.now() })),
        )
      );
    },
  };
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
      if (labels.length === 0 && !screen.flows && !screen.looksAt('results')) return undefined;
      return labelling({
        labels,
        guarded: (names) =>
          names.flatMap(({ guardrail, label }) => (asked().has(label) ? [labelBy(guardrail, label)] : [])),
        refusal: screen.flows
          ? async () => {
              const now = await conversations.read(client);
              return 'reason' in now ? now : screen.refusalAfter(now);
            }
          : undefined,
        put: (missing) => conversations.add(client, missing),
      });
    },
  };
}
