/** Asks the decision point about a call before it is sent. A call is refused if it is denied, and if there is no decision in time. */
import { fault, isCustomMethod, type GatewayFault, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import { isUnchanged, type Planned } from '../../call/planned-again.ts';
import type { Plan } from '../../call/plan.ts';
import { shareOf } from '../../call/client-of.ts';
import type { AuthZen, Evaluated, Evaluation } from './authzen.ts';
import { actionOf, contextOf, resourceOf, subjectOf, type ResourceKind } from './question.ts';

export interface Decider {
  readonly point: AuthZen | undefined;
  /** Whether refusals are only logged and counted (`access.mode: record`). */
  readonly isRecording: boolean;
  counted(outcome: 'permitted' | 'denied' | 'failed', problem: string | undefined, about: string): void;
}

interface Asked {
  readonly kind: ResourceKind;
  readonly server: ServerName;
  readonly name: string;
  readonly args: unknown;
}

/** @param isAfterApproval whether it asks about calls alone that have waited for an approval: their first decision may be old. */
export function decisionGate(decider: Decider, isAfterApproval: boolean): Gate {
  const gate: Gate = {
    takes(planned, run) {
      const { call, plan } = planned;
      const { point } = decider;
      const hasWaited = call.permission?.effect === 'ask' && !call.permission.isRecorded;
      if (point === undefined || (isAfterApproval && !hasWaited)) return false;
      const asked = askedIn(call, plan);
      if (asked.length === 0) return false;
      wait({ gate, decider }, planned, run, decide(point, asked, call.method, run.port));
      return true;
    },
  };
  return gate;
}

type Outcome = Evaluated | { readonly problem: string };

async function decide(
  point: AuthZen,
  asked: readonly Asked[],
  method: string,
  { caller, facts }: Pick<GateRun<CallStream>['port'], 'caller' | 'facts'>,
): Promise<Outcome> {
  const subject = subjectOf(facts);
  const owner = shareOf(caller, facts);
  try {
    let last: Evaluated = { isPermitted: false };
    for (const { kind, server, name, args } of asked) {
      const question: Evaluation = {
        subject,
        action: actionOf(method),
        resource: resourceOf(kind, server, name),
        context: contextOf(args, caller),
      };
      last = await point.evaluate(owner, question);
      if (!last.isPermitted) return last;
    }
    return last;
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function wait<Stream extends CallStream>(
  { gate, decider }: { readonly gate: Gate; readonly decider: Decider },
  planned: Planned<Stream>,
  run: GateRun<Stream>,
  deciding: Promise<Outcome>,
): void {
  const { call, plan } = planned;
  const waiting = new WaitingRequest(
    call,
    () => call.stream.leaveUnanswered(),
    (gatewayFault) => run.messages.answerFault(call.stream, call.id, gatewayFault),
    'server' in plan ? plan.server : undefined,
    'tool' in plan ? plan.tool : undefined,
  );
  run.open.add(waiting);
  run.open.after(waiting, deciding, (outcome) => {
    run.open.resume(
      waiting,
      () => {
        const refusal = refusalOf(decider, outcome, call.method);
        if (refusal !== undefined) {
          run.messages.deny(call, refusal);
          return;
        }
        // The rules may have changed meanwhile, and the decision is for this call alone.
        const next = run.again(call);
        if (isUnchanged(next, planned)) run.next(gate, next);
        else run.restart(next);
      },
      () => undefined,
    );
  });
}

function refusalOf(decider: Decider, outcome: Outcome, about: string): GatewayFault | undefined {
  const problem = 'problem' in outcome ? outcome.problem : undefined;
  const isPermitted = 'isPermitted' in outcome && outcome.isPermitted;
  decider.counted(problem !== undefined ? 'failed' : isPermitted ? 'permitted' : 'denied', problem, about);
  if (isPermitted || decider.isRecording) return undefined;
  if (problem !== undefined) return fault('policy.undecided');
  const because = 'because' in outcome ? outcome.because : undefined;
  return fault(
    'policy.denied',
    `the decision point of the gateway (access.decisions) does not permit this${because === undefined ? '' : `: ${because}`}`,
    { rule: 'access.decisions', ...(because === undefined ? {} : { because }) },
  );
}

/** What a call uses. Requests about tasks that run, and lists, have none: the task was decided when it began. */
function askedIn({ method }: Pick<ForwardedCall<CallStream>, 'method'>, plan: Plan): readonly Asked[] {
  if (plan.kind === 'refuse' || plan.kind === 'list' || method.startsWith('tasks/')) return [];
  if (plan.kind === 'search')
    return plan.servers.map((server): Asked => ({ kind: 'resource', server, name: plan.uri, args: undefined }));
  const { server, tool, params } = plan;
  const args = params['arguments'];
  if (tool !== undefined) return [{ kind: 'tool', server, name: tool, args }];
  if (typeof params['uri'] === 'string') return [{ kind: 'resource', server, name: params['uri'], args }];
  if (method === 'prompts/get') return [{ kind: 'prompt', server, name: String(params['name']), args }];
  if (method === 'completion/complete') return [completed(server, params)];
  return isCustomMethod(method) ? [{ kind: 'server', server, name: method, args: params }] : [];
}

function completed(server: ServerName, { ref, argument }: JsonObject): Asked {
  const { type, name, uri } = (ref ?? {}) as JsonObject;
  return type === 'ref/prompt'
    ? { kind: 'prompt', server, name: String(name), args: argument }
    : { kind: 'resource', server, name: String(uri), args: argument };
}
