// Placeholder until the contract is known in detail.
import { PageHead } from './page_head.tsx';

export function WorkflowsPage() {
  return <PageHead title="Workflows" />;
}
