import { roundMethods, type ExchangeContext } from '@omnibus/protocol';
import type { CallQuestions } from '../../call/attempt.ts';
import type { CallRun, CallStep } from '../../call/steps.ts';

export interface RootsStepOptions {
  readonly questions: Pick<CallQuestions, 'askForRound'>;
  /** Whether the roots of a request's client decide which connection may serve it. */
  readonly mustKnow: (context: ExchangeContext) => boolean;
}

/** The gateway first asks one of several clients of the same user for its roots, if the server has read roots: the request goes to a connection with the same roots. */
export function rootsStep({ questions, mustKnow }: RootsStepOptions): CallStep {
  let run: CallRun;
  return {
    join(given) {
      run = given;
    },
    client: 'roots',
    before(call) {
      const { method, context } = call.command;
      if (call.roots !== undefined || !roundMethods.has(method)) return undefined;
      if (!mustKnow(context)) return undefined;
      questions.askForRound(call, 'roots/list', {}, (answer) => {
        call.roots = answer;
        if (run.isOpen(call)) run.again(call);
      });
      return 'held';
    },
  };
}
