/** Shapes of questions between processes for operators, and of reports about watched calls. */
import type { AdminAnswer, AdminQuestion, TapFilter, TapLease, TapReport, WorkerOfRole } from '@omnibus/protocol';
import { count, fields, list, object, optional, shape, text, token } from './shape.ts';

/** The body of an answer has many shapes, and is checked by the process that asked. */
export const adminQuestion = shape<AdminQuestion>(fields<AdminQuestion>({ about: text, args: object }));
export const adminAnswer = shape<AdminAnswer>(
  fields<AdminAnswer>({
    process: token,
    role: text,
    workers: list(token),
    known: list(fields<WorkerOfRole>({ worker: token, role: text })),
    body: optional(object),
    problem: optional(text),
  }),
);

const filter = fields<TapFilter>({
  server: optional(text),
  tool: optional(text),
  client: optional(text),
  session: optional(text),
});
export const tapLease = shape<TapLease>(
  fields<TapLease>({ watch: token, to: token, termMs: count, filter, perSecond: count, payload: text }),
);
export const tapReport = shape<TapReport>(
  fields<TapReport>({ process: token, watch: token, events: list(object), dropped: count }),
);
