// @octokit/rest: a comment is made, and asked for by the number that it got.
import { Octokit } from '@octokit/rest';

const { rest } = new Octokit({ auth: process.env.GITHUB_TOKEN });
const repository = { owner: 'o', repo: 'r' };
const { data: made } = await rest.issues.createComment({ ...repository, issue_number: 1, body: 'thanks' });
const { data: again } = await rest.issues.getComment({ ...repository, comment_id: made.id });
console.log('comment', again.id, again.node_id, again.created_at, again.html_url);
