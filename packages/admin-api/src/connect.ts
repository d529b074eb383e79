/** How clients are connected to an endpoint of the gateway. */
import { z } from 'zod';

const clientWay = z.object({
  id: z.string().describe('Its name in `omnibus connect`.'),
  name: z.string(),
  files: z
    .object({ linux: z.string(), darwin: z.string(), win32: z.string() })
    .describe('Where its file is on each system.'),
  text: z.string().describe('What stands in its file for this endpoint.'),
  command: z.array(z.string()).describe('Writes that into the file, on the machine of the client; one word each.'),
  link: z.string().optional().describe('An address that opens the client, which asks and then connects.'),
  hint: z.string().describe('What the client needs after its file was changed.'),
});
export type ClientWay = z.output<typeof clientWay>;

export const connectWays = z.object({
  endpoint: z.string().describe('Empty for the one of all servers.'),
  endpoints: z.array(z.object({ name: z.string(), path: z.string() })),
  url: z
    .string()
    .describe('The address of the endpoint. `HOST` stands for the name of the machine where it is not known.'),
  needsKey: z.boolean().describe('Whether `KEY` in the texts stands for an API key of the user.'),
  clients: z.array(clientWay),
});
export type ConnectWays = z.output<typeof connectWays>;
export const connectQuery = z.object({ endpoint: z.string().max(64).default('') });
