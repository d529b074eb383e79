/** Servers that are HTTP APIs: the gateway answers as their MCP server, from their OpenAPI documents. Loaded with the first of them. */
import type { ServerName } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { ProcessFeature, ProcessParts } from '../../feature.ts';
import type { KeptDocument } from './kept-document.ts';

interface OpenApiOptions extends Pick<ProcessParts, 'agents'> {
  readonly baseFolder: string;
  readonly log: Logger;
}

export function openApiServers({ baseFolder, agents, log }: OpenApiOptions): ProcessFeature {
  const documents = new Map<ServerName, KeptDocument>();
  const forget = (server: ServerName): void => {
    documents.get(server)?.close();
    documents.delete(server);
  };
  return {
    async of(server, config) {
      forget(server);
      const { openapi } = config;
      if (openapi === undefined) return { transports: undefined };
      const { KeptDocument } = await import('./kept-document.ts');
      const { OpenApiTransport } = await import('./transport.ts');
      const document = new KeptDocument({
        settings: openapi,
        url: config.url,
        headers: config.headers,
        baseFolder,
        dispatcher: agents.of(config.addresses, undefined, config.proxy),
        log: log.child({ server }),
      });
      documents.set(server, document);
      const secrets = Object.values(openapi.security);
      return {
        transports: {
          secrets: [...secrets, ...secrets.map((secret) => Buffer.from(secret).toString('base64'))],
          create: (options, observer) => new OpenApiTransport(document, options, observer),
        },
      };
    },
    forget,
    stop() {
      for (const server of documents.keys()) forget(server);
      return Promise.resolve();
    },
  };
}
