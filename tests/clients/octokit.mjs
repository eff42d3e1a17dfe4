// @octokit/rest: pages of issues, which follow the Link header, and a comment.
import { Octokit } from '@octokit/rest';

const octokit = new Octokit({ auth: process.env.GITHUB_TOKEN });
const repository = { owner: 'o', repo: 'r' };

for await (const page of octokit.paginate.iterator(octokit.rest.issues.listForRepo, { ...repository, per_page: 2 })) {
  for (const issue of page.data) console.log('issue', issue.number, issue.id, issue.title, issue.updated_at);
}
const comment = await octokit.rest.issues.createComment({ ...repository, issue_number: 1, body: 'thanks' });
console.log('comment', comment.status, comment.data.id, comment.data.body, comment.data.html_url);
const viewer = await octokit.graphql('query { viewer { login id } }');
console.log('viewer', JSON.stringify(viewer));
