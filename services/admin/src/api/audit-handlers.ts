/** The operations of the API that search, show and verify audit records. Each of them is on record itself. */
import type { AllProcesses } from './all-processes.ts';
import { AuditBoard } from './audit-board.ts';
import { tellVerified } from './audit-verify.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

export function auditHandlers(
  { process, config, note }: Pick<ApiOptions, 'process' | 'config' | 'note'>,
  all: AllProcesses,
): Pick<Handlers, 'audit' | 'auditRecord' | 'auditVerify'> {
  const board = (): AuditBoard => new AuditBoard({ process, config, assembly: all.assembly });
  return {
    audit: async ({ request, query }) => {
      const { cursor, limit: _limit, ...asked } = query;
      note(request, 'audit.search', { ...asked, isNextPage: cursor !== undefined });
      return board().search(query);
    },
    auditRecord: async ({ request, query }) => {
      const found = await board().record(query);
      note(request, 'audit.read', { writer: found.row.writer, seq: found.row.seq });
      return found;
    },
    auditVerify: async ({ request, response, query }) => {
      note(request, 'audit.verify', { writer: query.writer });
      await tellVerified(board(), query, response);
      return undefined;
    },
  };
}
