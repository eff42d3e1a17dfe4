"""PyGithub: pages of issues and a comment."""
import os

from github import Auth, Github

github = Github(auth=Auth.Token(os.environ["GITHUB_TOKEN"]), per_page=2, seconds_between_requests=0, seconds_between_writes=0)
repository = github.get_repo("o/r")
print(repository.id, repository.full_name, repository.description)
for issue in repository.get_issues():
    print(issue.number, issue.title, issue.html_url)
comment = repository.get_issue(1).create_comment("thanks")
print(comment.id, comment.body, comment.html_url)
